import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { CommandError } from "../../packages/command/command_error.ts";
import { PROJECT } from "../../packages/local/project.ts";
import { installPackages } from "../clients/install_packages.ts";
import { OWN_SOURCES, SOURCES, type SourceTree } from "./lwip_source.ts";

/** LLVM compiled to WebAssembly, 105 MB. A change also needs `deno task mesh:build --new`. */
const COMPILER = { "@yowasp/clang": "22.0.0-git20542-10" };

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

/** The parts of `@yowasp/clang` that are used here. */
interface Compiler {
  /** Without arguments, only loads the compiler. */
  runClang(args: string[] | null, files: Tree, options: {
    readonly stdout?: (bytes: Uint8Array | null) => void;
    readonly stderr?: (bytes: Uint8Array | null) => void;
    /** Without it, the package writes to standard output how much it has read. */
    readonly fetchProgress?: () => void;
  }): Promise<Tree>;
}

interface Tree {
  [name: string]: Tree | Uint8Array;
}

/**
 * Compiles lwIP to WebAssembly, by a clang that is WebAssembly itself: no compiler has to be
 * installed. The same tree gives the same bytes on every machine. Throws CommandError.
 */
export async function compileLwip(tree: SourceTree): Promise<Uint8Array> {
  const folder = await mkdtemp(join(tmpdir(), "agent-mesh-clang-"));
  try {
    const lock = join(PROJECT, "dev/mesh/deno.lock");
    await installPackages(folder, { dependencies: COMPILER, lock });
    const file = join(folder, "node_modules/@yowasp/clang/gen/bundle.js");
    return await compile(await import(pathToFileURL(file).href), tree);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function compile({ runClang }: Compiler, tree: SourceTree): Promise<Uint8Array> {
  let messages = "";
  const decoder = new TextDecoder();
  const keep = (bytes: Uint8Array | null) => {
    if (bytes !== null) messages += decoder.decode(bytes, { stream: true });
  };
  const args = ["clang", ...FLAGS, ...OWN_SOURCES, ...SOURCES, "-o", "lwip.wasm"];
  try {
    await runClang(null, {}, { fetchProgress: () => {} });
    const built = await runClang(args, nested(tree), { stdout: keep, stderr: keep });
    return built["lwip.wasm"] as Uint8Array;
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
