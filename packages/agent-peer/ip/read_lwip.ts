import { nodeModule } from "../platform.ts";

/** Below this module, where `deno task mesh:build` puts it. */
const FILE = new URL("./built/lwip.wasm", import.meta.url);

/** Loads lwIP for `IpStack`. If the file is missing, throws an error that says how to build it. */
export async function readLwip(): Promise<WebAssembly.Module> {
  const files = await nodeModule<typeof import("node:fs/promises")>(
    "node:fs/promises",
  );
  let bytes: BufferSource;
  try {
    if (files === null) throw new Error("This platform has no files.");
    bytes = new Uint8Array(await files.readFile(FILE));
  } catch (cause) {
    throw new Error(
      "The TCP/IP stack of the mesh has not been built. In the clone that this comes from, run " +
        "`npx -y deno@2.9.6 task mesh:build`, and build or install the package again.",
      { cause },
    );
  }
  return await WebAssembly.compile(bytes);
}
