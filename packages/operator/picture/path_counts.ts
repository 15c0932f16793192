import { describePath, type PathDescription } from "../../agent-peer/paths/describe_path.ts";
import type { Sides } from "../reads/paths.ts";
import type { RuleRow } from "../reads/rows.ts";

/** What is known about each path, by its `pathKey`. */
export type KnownPaths = ReadonlyMap<string, PathDescription>;

/** How many paths an arrow stands for, and how many of them work. */
export interface PathCounts {
  readonly paths: number;
  readonly working: number;
  /** How many do not work or are unclear. The rest is unknown. */
  readonly broken: number;
  /** What to say about them, such as `does not work`; empty if nothing is known about any path. */
  readonly text: string;
}

export function knownPaths(pairs: readonly Sides[]): KnownPaths {
  return new Map(pairs.map((sides) => [
    pathKey(sides[0].agent_id, sides[1].agent_id),
    // Null, because a picture shows no reasons.
    describePath(sides, null),
  ]));
}

/** The same key for both directions. No agent's name has a blank. */
export function pathKey(one: string, other: string): string {
  return [one, other].sort().join(" ");
}

/** Counts the paths that the rules use, each once. An agent without a peer has none. */
export function countPaths(
  rules: readonly Pick<RuleRow, "from_agent" | "to_agent">[],
  paths: KnownPaths,
): PathCounts {
  const keys = new Set(rules.map(({ from_agent, to_agent }) => pathKey(from_agent, to_agent)));
  const found = Array.from(keys).flatMap((key) => paths.get(key) ?? []);
  const working = found.filter(({ state }) => state === "works").length;
  const unknown = found.filter(({ state }) => state === "unknown").length;
  return {
    paths: found.length,
    working,
    broken: found.length - working - unknown,
    text: found.length === 1 ? ofOne(found[0]!) : ofMany(found.length, working),
  };
}

function ofOne({ state, via }: PathDescription): string {
  if (state === "works") return via === "relay" ? "by relay" : "directly";
  if (state === "unknown") return "path not known";
  return state === "disputed" ? "path not clear" : "does not work";
}

function ofMany(paths: number, working: number): string {
  if (paths === 0) return "";
  return paths === working ? `all ${paths} work` : `${working} of ${paths} work`;
}
