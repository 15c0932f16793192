import type { NodeModules } from "./node.ts";
import { parsePatterns, type Patterns } from "./patterns.ts";

const MOST_BYTES = 1024 ** 2;

/**
 * The patterns that apply to a folder from outside it, if it is in a git repository, and the
 * folder's path below the top of the repository.
 */
export async function patternsAround(
  node: NodeModules,
  folder: string,
): Promise<{ readonly segments: readonly string[]; readonly places: readonly Patterns[] }> {
  const { dirname, join, relative, sep } = node.path;
  let top = folder;
  while (!await node.fs.lstat(join(top, ".git")).then(() => true, () => false)) {
    if (dirname(top) === top) return { segments: [], places: [] };
    top = dirname(top);
  }
  const segments = relative(top, folder).split(sep).filter(Boolean);
  let places: readonly Patterns[] = [
    parsePatterns(await linesOf(node, join(top, ".git", "info", "exclude"))),
  ];
  for (let depth = 0; depth < segments.length; depth++) {
    const above = segments.slice(0, depth);
    places = await withGitignore(node, places, join(top, ...above), above);
  }
  return { segments, places };
}

/** Adds the patterns of a folder's own `.gitignore`. */
export async function withGitignore(
  node: NodeModules,
  places: readonly Patterns[],
  folder: string,
  segments: readonly string[],
): Promise<readonly Patterns[]> {
  const lines = await linesOf(node, node.path.join(folder, ".gitignore"));
  return lines.length === 0 ? places : [...places, parsePatterns(lines, segments)];
}

/** Like git, ignores a link. A file that exists and cannot be read is an error. */
async function linesOf({ fs }: NodeModules, path: string): Promise<string[]> {
  const state = await fs.lstat(path).catch((error) => {
    if (["ENOENT", "ENOTDIR"].includes(error.code)) return null;
    throw error;
  });
  if (state === null || !state.isFile()) return [];
  if (state.size > MOST_BYTES) throw new Error(`${path} has more than ${MOST_BYTES} bytes.`);
  return (await fs.readFile(path, "utf8")).replace(/^\ufeff/, "").split("\n");
}
