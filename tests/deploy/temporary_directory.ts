import { rm } from "node:fs/promises";

/** A directory of a test's own, removed with everything in it at the end. */
export async function openTemporaryDirectory() {
  const path = await Deno.makeTempDir({ prefix: "agent-mesh-deploy-" });
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}
