/** Which entries of a folder are not sent: patterns in the format of a line of `.gitignore`. */

interface Pattern {
  /** Matches a path below the folder of the pattern. */
  readonly path: RegExp;
  readonly isNegated: boolean;
  readonly isForFolders: boolean;
}

/** The patterns of one place, such as a `.gitignore`. */
export interface Patterns {
  /** The folder of the place, as segments below the top. */
  readonly folder: readonly string[];
  readonly patterns: readonly Pattern[];
}

/** Reads lines as gitignore(5) describes them. */
export function parsePatterns(lines: readonly string[], folder: readonly string[] = []): Patterns {
  return { folder, patterns: lines.flatMap(parsePattern) };
}

/**
 * Whether an entry is excluded. The last pattern that matches decides, and later places decide
 * before earlier ones. What is below an excluded folder is not asked for.
 */
export function isExcluded(
  places: readonly Patterns[],
  segments: readonly string[],
  isDirectory: boolean,
): boolean {
  for (const { folder, patterns } of places.toReversed()) {
    if (folder.some((segment, index) => segments[index] !== segment)) continue;
    const path = segments.slice(folder.length).join("/");
    const decisive = patterns.findLast((pattern) =>
      (isDirectory || !pattern.isForFolders) && pattern.path.test(path)
    );
    if (decisive !== undefined) return !decisive.isNegated;
  }
  return false;
}

function parsePattern(line: string): Pattern[] {
  let glob = line.replace(/\r$/, "").replace(/(?<!\\) +$/, "");
  if (glob === "" || glob.startsWith("#")) return [];
  const isNegated = glob.startsWith("!");
  if (isNegated) glob = glob.slice(1);
  const isForFolders = glob.endsWith("/");
  if (isForFolders) glob = glob.slice(0, -1);
  const isAnchored = glob.includes("/");
  const source = sourceOf(glob.replace(/^\//, ""));
  if (source === null) return [];
  const path = new RegExp(`^${isAnchored ? "" : "(?:.*/)?"}${source}$`, "su");
  return [{ path, isNegated, isForFolders }];
}

const TOKENS =
  /(?<start>^\*\*\/)|(?<end>\/\*\*$)|(?<middle>\/(?:\*\*\/)+)|(?<star>\*+)|(?<one>\?)|(?<set>\[[!^]?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\])|\\(?<escaped>.)|(?<literal>.)/gsu;

/** The source of the regular expression for a glob; null if the glob matches nothing. */
function sourceOf(glob: string): string | null {
  if (glob === "" || /(?<!\\)(?:\\\\)*\\$/.test(glob)) return null;
  const parts: string[] = [];
  for (const { groups = {} } of glob.matchAll(TOKENS)) {
    const { start, end, middle, star, one, set, escaped, literal } = groups;
    if (start !== undefined) parts.push("(?:.*/)?");
    else if (end !== undefined) parts.push("/.+");
    else if (middle !== undefined) parts.push("/(?:.*/)?");
    else if (star !== undefined) parts.push(STAR);
    else if (one !== undefined) parts.push("[^/]");
    else if (set !== undefined) {
      const its = setOf(set);
      if (its === null) return null;
      parts.push(its);
    } else if (literal === "[") return null;
    else parts.push(escape(escaped ?? literal!));
  }
  return joined(parts);
}

const STAR = "[^/]*";

/**
 * The parts as one source. If another star follows in the same name, a star takes the first match
 * of what is between the two, and no other one is tried: with many stars, that would take years.
 */
function joined(parts: readonly string[]): string {
  let [source, piece, stars, isLast] = ["", "", 0, true];
  for (const part of parts.toReversed()) {
    if (part !== STAR) {
      piece = part + piece;
      if (part.includes("/") && !part.startsWith("[") && !part.startsWith("(?!")) {
        [source, piece, isLast] = [piece + source, "", true];
      }
      continue;
    }
    if (isLast) source = STAR + piece + source;
    else {
      stars++;
      source = `(?=(?<s${stars}>[^/]*?${piece}))\\k<s${stars}>${source}`;
    }
    [piece, isLast] = ["", false];
  }
  return piece + source;
}

const CLASSES: Readonly<Record<string, string>> = {
  alnum: "A-Za-z0-9",
  alpha: "A-Za-z",
  digit: "0-9",
  lower: "a-z",
  upper: "A-Z",
  space: "\\s",
  punct: "!-\\/:-@\\[-`\\{-~",
  xdigit: "0-9A-Fa-f",
};

const MEMBERS = /\[:(?<name>\w+):\]|\\?(?<first>.)-\\?(?<last>.)|\\?(?<only>.)/gsu;

/** `[!a-z]` → `(?!/)[^a-z]`; null if the set matches nothing. */
function setOf(set: string): string | null {
  const isNegated = /^\[[!^]/.test(set);
  let members = "";
  for (const { groups = {} } of set.slice(isNegated ? 2 : 1, -1).matchAll(MEMBERS)) {
    const { name, first, last, only } = groups;
    if (name !== undefined) {
      if (!Object.hasOwn(CLASSES, name)) return null;
      members += CLASSES[name];
    } else if (last === undefined) members += escape(only!, true);
    // Git matches the first letter of a range that is the wrong way round.
    else if (first!.codePointAt(0)! > last.codePointAt(0)!) members += escape(first!, true);
    else members += `${escape(first!, true)}-${escape(last, true)}`;
  }
  return `(?!/)[${isNegated ? "^" : ""}${members}]`;
}

function escape(letter: string, isInSet = false): string {
  return (isInSet ? /[\\\]\[^-]/ : /[\\^$.*+?()[\]{}|/]/).test(letter) ? `\\${letter}` : letter;
}
