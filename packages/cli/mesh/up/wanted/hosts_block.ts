/**
 * A block of lines at the end of a file of names such as /etc/hosts. Every other line stays as it
 * is. A name that the file or this host already has is left out; case does not matter.
 */
export interface HostsBlock {
  readonly interfaceName: string;
  /** The name of this host. */
  readonly ownName: string;
  readonly peers: readonly {
    readonly name: string | null;
    readonly ipv4: string;
    readonly ipv6: string;
  }[];
}

/** A line that this program writes. */
const OWN_LINE = /^[0-9a-f.:]+ [a-z0-9-]+$/;

/** The file's text with the names of these peers in the block. Without names, there is no block. */
export function withNames(text: string, { interfaceName, ownName, peers }: HostsBlock): string {
  const [begin, end] = [beginOf(interfaceName), `# end of mesh-agent ${interfaceName}`];
  const rest = withoutBlock(text.split("\n"), { begin, end });
  const taken = new Set(["localhost", ownName, ownName.split(".")[0]!].map(lower));
  for (const line of rest) {
    const [, ...names] = line.replace(/#.*/, "").split(/[ \t\r]+/);
    for (const name of names) taken.add(lower(name));
  }
  const lines = peers.flatMap(({ name, ipv4, ipv6 }) => {
    if (name === null || taken.has(name)) return [];
    taken.add(name);
    return [`${ipv4} ${name}`, `${ipv6} ${name}`];
  });
  if (lines.length === 0) return rest.join("\n");
  // The text ends with a line break, so its last element is empty.
  const isEnded = rest.at(-1) === "";
  const before = isEnded ? rest.slice(0, -1) : rest;
  return [...before, begin, ...lines, end, ""].join("\n");
}

function beginOf(interfaceName: string): string {
  return `# begin of mesh-agent ${interfaceName}`;
}

/**
 * Leaves out the block's own lines; lines that somebody else put into it stay. If the end marker is
 * missing, only the first lines after the begin marker that look like this program's are left out.
 */
function withoutBlock(
  lines: readonly string[],
  { begin, end }: { readonly begin: string; readonly end: string },
): string[] {
  const rest: string[] = [];
  let held: string[] | null = null;
  const release = () => {
    const isOther = (line: string) => !OWN_LINE.test(line);
    const from = held?.findIndex(isOther) ?? -1;
    if (held !== null && from !== -1) rest.push(...held.slice(from));
    held = null;
  };
  for (const line of lines) {
    if (line === begin) {
      release();
      held = [];
    } else if (held === null) rest.push(line);
    else if (line === end) {
      rest.push(...held.filter((other) => !OWN_LINE.test(other)));
      held = null;
    } else held.push(line);
  }
  release();
  return rest;
}

function lower(name: string): string {
  return name.toLowerCase();
}
