import { stemOf } from "../../picture/graph.ts";

/** More names nobody reads in one picture. */
const MOST_SEPARATE = 100;
/** The most groups, where names allow it. */
const MOST_GROUPS = 60;
const LONGEST_BEGINNING = 12;

/**
 * The prefix that each name is drawn under, where there are too many to draw each: by the part
 * before the last separator, else by as many first characters as few enough groups allow. A name
 * that no other shares a prefix with has none, and neither have names that begin with `open`.
 */
export function prefixesOf(names: readonly string[], open: string): ReadonlyMap<string, string> {
  const closed = open === "" ? names : names.filter((name) => !name.startsWith(open));
  const opened = names.length - closed.length;
  if (names.length <= MOST_SEPARATE) return new Map();
  const prefixes = shared(closed);
  // What was opened may be too much for one picture, too.
  if (opened <= MOST_SEPARATE) return prefixes;
  const deeper = shared(names.filter((name) => open !== "" && name.startsWith(open)), open.length);
  return new Map([...prefixes, ...deeper]);
}

function shared(names: readonly string[], least = 0): ReadonlyMap<string, string> {
  const ways = [
    withSeparator,
    ...Array.from({ length: LONGEST_BEGINNING }, (_, index) => LONGEST_BEGINNING - index)
      .map((length) => (name: string) => name.slice(0, least + length)),
  ];
  let chosen = new Map<string, string[]>();
  for (const way of ways) {
    chosen = Map.groupBy(names, way);
    // A group that is all of what was opened opens nothing.
    const leadsOn = Array.from(chosen.keys()).every((prefix) => prefix.length > least);
    if (chosen.size <= MOST_GROUPS && leadsOn) break;
  }
  return new Map(
    Array.from(chosen)
      .filter(([, members]) => members.length > 1)
      .flatMap(([prefix, members]) => members.map((name): [string, string] => [name, prefix])),
  );
}

/** `web-` of `web-17`; a name without a separator is all of itself. */
function withSeparator(name: string): string {
  return name.slice(0, stemOf(name).length + 1);
}
