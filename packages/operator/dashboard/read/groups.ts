import { stemOf } from "../../picture/graph.ts";
import { groupBy } from "../../reads/collections.ts";

/** With more names than this, a picture is unreadable. */
const MOST_SEPARATE = 100;
/** The most groups, if the names allow it. */
const MOST_GROUPS = 60;
const LONGEST_BEGINNING = 12;

/**
 * Maps each name to the prefix that it is drawn under, if there are too many names to draw each.
 * The prefix is the part up to the last separator. If that makes too many groups, the prefix is the
 * longest beginning that makes few enough. A name that shares its prefix with no other has none. A
 * name that begins with `open` gets a longer prefix than `open`, or none.
 */
export function prefixesOf(names: readonly string[], open: string): ReadonlyMap<string, string> {
  const closed = open === "" ? names : names.filter((name) => !name.startsWith(open));
  const opened = names.length - closed.length;
  if (names.length <= MOST_SEPARATE) return new Map();
  const prefixes = shared(closed);
  // The opened group may itself be too large for one picture.
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
    chosen = groupBy(names, way);
    // Opening a group with a prefix no longer than `open` would show the same group again.
    const leadsOn = Array.from(chosen.keys()).every((prefix) => prefix.length > least);
    if (chosen.size <= MOST_GROUPS && leadsOn) break;
  }
  return new Map(
    Array.from(chosen)
      .filter(([, members]) => members.length > 1)
      .flatMap(([prefix, members]) => members.map((name): [string, string] => [name, prefix])),
  );
}

/** `web-` for `web-17`; the whole name if it has no separator. */
function withSeparator(name: string): string {
  return name.slice(0, stemOf(name).length + 1);
}
