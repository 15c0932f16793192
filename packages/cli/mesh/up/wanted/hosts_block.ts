import { MESH_DOMAIN } from "../../../../agent-peer/mesh/service/names.ts";

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

/** A line that this program writes. Earlier versions wrote names without the domain. */
const OWN_LINE = /^[0-9a-f.:]+ (?:[a-z0-9-]+|[a-z0-9-]+\.mesh\.internal(?: [a-z0-9-]+)?)$/;
/** In the begin marker, if the file's last line has no line break. */
const UNENDED = " (after a line without an end)";

/** The file's text with the names of these peers in the block. Without names, there is no block. */
export function withNames(text: string, { interfaceName, ownName, peers }: HostsBlock): string {
  const rest = withoutBlock(text.split("\n"), interfaceName);
  const taken = new Set(["localhost", ownName, ownName.split(".")[0]!].map(lower));
  for (const line of rest) {
    const [, ...names] = line.replace(/#.*/, "").split(/[ \t\r]+/);
    for (const name of names) taken.add(lower(name));
  }
  const lines = peers.flatMap(({ name, ipv4, ipv6 }) => {
    const names = name === null ? [] : [`${name}.${MESH_DOMAIN}`, name];
    const free = names.filter((name) => !taken.has(name));
    if (free.length === 0) return [];
    for (const name of free) taken.add(name);
    return [ipv4, ipv6].map((address) => [address, ...free].join(" "));
  });
  if (lines.length === 0) return rest.join("\n");
  const { begin, end } = markersOf(interfaceName);
  // If the text ends with a line break, its last element is empty.
  const isEnded = rest.at(-1) === "";
  const before = isEnded ? rest.slice(0, -1) : rest;
  return [...before, isEnded ? begin : begin + UNENDED, ...lines, end, ""].join("\n");
}

function markersOf(interfaceName: string): { readonly begin: string; readonly end: string } {
  const [begin, end] = ["begin", "end"].map((word) => `# ${word} of mesh-agent ${interfaceName}`);
  return { begin: begin!, end: end! };
}

/**
 * Leaves out the block's own lines; lines that somebody else put into it stay. If the end marker is
 * missing, only the first lines after the begin marker that look like this program's are left out.
 */
function withoutBlock(lines: readonly string[], interfaceName: string): string[] {
  const { begin, end } = markersOf(interfaceName);
  const rest: string[] = [];
  let held: string[] | null = null;
  const release = () => {
    const isOther = (line: string) => !OWN_LINE.test(line);
    const from = held?.findIndex(isOther) ?? -1;
    if (held !== null && from !== -1) rest.push(...held.slice(from));
    held = null;
  };
  for (const line of lines) {
    if (line === begin || line === begin + UNENDED) {
      release();
      held = [];
    } else if (held === null) rest.push(line);
    else if (line === end) {
      rest.push(...held.filter((other) => !OWN_LINE.test(other)));
      held = null;
    } else held.push(line);
  }
  release();
  // The last line gets no line break that it did not have, unless others follow by now.
  const isLast = lines.at(-1) === "" && lines.at(-2) === end;
  if (isLast && rest.length > 1 && lines.includes(begin + UNENDED)) rest.pop();
  return rest;
}

function lower(name: string): string {
  return name.toLowerCase();
}
