import { commands, type Tree } from "@yowasp/clang";
import { CommandError } from "../../local/command/command_error.ts";
import { OWN_SOURCES, SOURCES, type SourceTree } from "./lwip_source.ts";

const FLAGS = [
  "--target=wasm32-wasip1",
  "-std=c99",
  "-O2",
  "-flto",
  // Ignore the warnings in lwIP's own code.
  "-w",
  "-Iown",
  "-Isrc/include",
  "-nostartfiles",
  // At most 256 MiB of memory.
  "-Wl,--no-entry,--strip-all,--lto-O2,-z,stack-size=65536,--max-memory=268435456",
];

/**
 * Compiles lwIP to WebAssembly, by a clang that is WebAssembly itself: it needs no installed
 * compiler. The same tree gives the same bytes on every machine. Throws CommandError.
 */
export async function compileLwip(tree: SourceTree): Promise<Uint8Array> {
  let messages = "";
  const decoder = new TextDecoder();
  const keep = (bytes: Uint8Array | null) => {
    if (bytes !== null) messages += decoder.decode(bytes, { stream: true });
  };
  const args = [...FLAGS, ...OWN_SOURCES, ...SOURCES, "-o", "lwip.wasm"];
  try {
    // Loads the compiler. Without this call, it reports on standard output how much it has read.
    await commands.clang(undefined, {}, { fetchProgress: () => {} });
    const built = await commands.clang(args, nested(tree), { stdout: keep, stderr: keep });
    return built!["lwip.wasm"] as Uint8Array;
  } catch (error) {
    throw new CommandError(`clang failed: ${messages.trim() || (error as Error).message}`);
  }
}

/** The files as the compiler takes them: folders in folders. */
function nested(tree: SourceTree): Tree {
  const root: Tree = {};
  for (const [path, bytes] of tree) {
    const folders = path.split("/");
    const name = folders.pop()!;
    let folder = root;
    for (const part of folders) folder = (folder[part] ??= {}) as Tree;
    folder[name] = bytes;
  }
  return root;
}
