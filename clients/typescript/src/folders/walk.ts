import type { Stats } from "node:fs";
import { AgentError } from "../errors/agent_error.ts";
import type { NodeModules } from "./node.ts";

/** A file or folder that was found. */
export interface FoundEntry {
  /** The path within the archive; for a folder, with `/` at its end. */
  readonly name: string;
  readonly path: string;
  readonly isDirectory: boolean;
  readonly size: number;
  readonly mode: number;
  readonly modifiedAt: Date;
}

/** An entry that is neither a file nor a folder. */
export interface LeftOut {
  /** The path that it would have within the archive. */
  readonly name: string;
  readonly kind: "symbolic link" | "fifo" | "socket" | "device";
}

export interface Found {
  readonly found: FoundEntry[];
  readonly leftOut: LeftOut[];
}

/** Finds a folder and everything below it, sorted by name. Follows no links. */
export async function walk(
  node: NodeModules,
  folder: string,
  name: string,
): Promise<Found> {
  const all: Found = { found: [], leftOut: [] };
  await look(node, folder, name, all);
  return all;
}

async function look(
  node: NodeModules,
  path: string,
  name: string,
  all: Found,
): Promise<void> {
  const { fs } = node;
  const state = await fs.lstat(path);
  const isDirectory = state.isDirectory();
  if (!isDirectory && !state.isFile()) {
    all.leftOut.push({ name, kind: kindOf(state) });
    return;
  }
  all.found.push({
    name: isDirectory ? `${name}/` : name,
    size: isDirectory ? 0 : state.size,
    path,
    isDirectory,
    // Without set-user-ID and similar bits, which must not apply to another user.
    mode: state.mode & 0o777,
    modifiedAt: state.mtime,
  });
  if (!isDirectory) return;
  for (const child of await childrenOf(node, path, state)) {
    await look(node, node.path.join(path, child), `${name}/${child}`, all);
  }
}

/** The names in a folder. Throws if another folder or a link has replaced it meanwhile. */
async function childrenOf(
  { fs }: NodeModules,
  path: string,
  state: Stats,
): Promise<string[]> {
  const children = await fs.readdir(path);
  const { ino, dev } = await fs.lstat(path);
  if (ino !== state.ino || dev !== state.dev) throw changedFolder(path);
  return children.sort();
}

function changedFolder(path: string): AgentError {
  return new AgentError({
    code: "source_size_mismatch",
    message: `${path} has changed while it was read. Put the folder when nobody changes it.`,
  });
}

function kindOf(state: Stats): LeftOut["kind"] {
  if (state.isSymbolicLink()) return "symbolic link";
  if (state.isFIFO()) return "fifo";
  return state.isSocket() ? "socket" : "device";
}
