import type { Stats } from "node:fs";
import { AgentError } from "../errors/agent_error.ts";
import { excessOf } from "./entry_path.ts";
import { patternsAround, withGitignore } from "./gitignore.ts";
import type { NodeModules } from "./node.ts";
import type { LeftOut, WalkOptions } from "./packed.ts";
import { isExcluded, parsePatterns, type Patterns } from "./patterns.ts";
import { refusalToPack } from "./tar/refusal.ts";

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

export interface Found {
  readonly found: FoundEntry[];
  readonly leftOut: LeftOut[];
  /** The hidden entries that were found: a name begins with a dot. Not what is below them. */
  readonly hidden: string[];
}

/** An entry to look at. */
interface Place {
  readonly path: string;
  readonly name: string;
  /** The path below the top, or below the repository around it. */
  readonly segments: readonly string[];
  readonly isHidden: boolean;
}

/**
 * Finds a folder and everything below it, sorted by name. Follows no links. Throws
 * `archive_refused` for what is too deep or has too long a name to be extracted.
 */
export async function walk(
  node: NodeModules,
  folder: string,
  name: string,
  { exclude = [], gitignore = false }: WalkOptions = {},
): Promise<Found> {
  const all: Found = { found: [], leftOut: [], hidden: [] };
  const around = gitignore ? await patternsAround(node, folder) : { segments: [], places: [] };
  const { segments } = around;
  const chosen = parsePatterns(exclude, segments);
  const top = { path: folder, name, segments, isHidden: false };
  await look(top, around.places);
  return all;

  async function look(place: Place, places: readonly Patterns[]): Promise<void> {
    const { path, name, segments } = place;
    const state = await node.fs.lstat(path).catch((error) => {
      // The path to it is longer than its name in the archive.
      throw error.code === "ENAMETOOLONG" ? refusalToPack(name, "has too long a name") : error;
    });
    const isDirectory = state.isDirectory();
    const isTop = place === top;
    if (!isTop && gitignore && segments.at(-1) === ".git") return;
    // What was chosen for this call decides before every file.
    if (!isTop && isExcluded([...places, chosen], segments, isDirectory)) return;
    if (!isDirectory && !state.isFile()) {
      all.leftOut.push({ name, kind: kindOf(state) });
      return;
    }
    const isHidden = !isTop && segments.at(-1)!.startsWith(".");
    const fullName = isDirectory ? `${name}/` : name;
    const excess = excessOf(fullName);
    if (excess !== null) throw refusalToPack(fullName, excess);
    if (isHidden && !place.isHidden) all.hidden.push(fullName);
    all.found.push({
      name: fullName,
      size: isDirectory ? 0 : state.size,
      path,
      isDirectory,
      // Without set-user-ID and similar bits, which must not apply to another user.
      mode: state.mode & 0o777,
      modifiedAt: state.mtime,
    });
    if (!isDirectory) return;
    const below = gitignore ? await withGitignore(node, places, path, segments) : places;
    for (const child of await childrenOf(node, path, state)) {
      const childName = `${name}/${child.name}`;
      const childSegments = [...segments, child.name];
      if (child.isUtf8) {
        await look({
          path: node.path.join(path, child.name),
          name: childName,
          segments: childSegments,
          isHidden: isHidden || place.isHidden,
        }, below);
      } else if (!isExcluded([...below, chosen], childSegments, false)) {
        all.leftOut.push({ name: childName, kind: "name that is not UTF-8" });
      }
    }
  }
}

interface Child {
  readonly name: string;
  readonly isUtf8: boolean;
}

/** The names in a folder. Throws if another folder or a link has replaced it meanwhile. */
async function childrenOf(
  { fs, path: { join } }: NodeModules,
  path: string,
  state: Stats,
): Promise<Child[]> {
  const names = (await fs.readdir(path)).sort();
  const children: Child[] = [];
  for (const name of names) {
    // Node and Deno put U+FFFD for what is not UTF-8. A file may also be called so; only one is.
    const isUtf8 = !name.includes("\ufffd") ||
      children.at(-1)?.name !== name &&
        await fs.lstat(join(path, name)).then(() => true, isNotThere);
    children.push({ name, isUtf8 });
  }
  const { ino, dev } = await fs.lstat(path);
  if (ino !== state.ino || dev !== state.dev) throw changedFolder(path);
  return children;
}

function isNotThere(error: { code?: string }): false {
  if (error.code === "ENOENT") return false;
  throw error;
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
