import { nodeModule } from "../platform/node_module.ts";

export interface NodeModules {
  readonly fs: typeof import("node:fs/promises");
  readonly constants: typeof import("node:fs").constants;
  readonly path: typeof import("node:path");
  readonly process: typeof import("node:process");
}

/** The modules that read and write folders, in Node and Deno. Throws TypeError elsewhere. */
export async function nodeModules(): Promise<NodeModules> {
  const [fs, files, path, process] = await Promise.all([
    nodeModule<typeof import("node:fs/promises")>("node:fs/promises"),
    nodeModule<typeof import("node:fs")>("node:fs"),
    nodeModule<typeof import("node:path")>("node:path"),
    nodeModule<typeof import("node:process")>("node:process"),
  ]);
  if (fs === null || files === null || path === null || process === null) {
    throw new TypeError(
      "There are no folders on this platform: put or get the tar itself.",
    );
  }
  return { fs, constants: files.constants, path, process };
}
