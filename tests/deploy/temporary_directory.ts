import { rm } from "node:fs/promises";

/** A temporary directory, removed with everything in it at the end of the test. */
export async function openTemporaryDirectory() {
  const path = await Deno.makeTempDir({ prefix: "agent-mesh-deploy-" });
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}
