/** IP addresses as text and as the bytes that packets have: 4 or 16. */

/** Returns null if the text is neither an IPv4 address in dotted-quad form nor an IPv6 address. */
export function parseAddress(text: string): Uint8Array | null {
  return text.includes(":") ? parseIpv6(text) : parseIpv4(text);
}

/** Throws TypeError instead. */
export function bytesOf(address: string): Uint8Array {
  const bytes = parseAddress(address);
  if (bytes === null) throw new TypeError(`${address} is not an IP address.`);
  return bytes;
}

function parseIpv4(text: string): Uint8Array | null {
  const parts = text.split(".");
  if (
    parts.length !== 4 ||
    !parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part))
  ) return null;
  const numbers = parts.map(Number);
  return numbers.every((number) => number <= 255) ? Uint8Array.from(numbers) : null;
}

function parseIpv6(text: string): Uint8Array | null {
  const halves = text.split("::");
  if (halves.length > 2) return null;
  const [before, after] = halves.map(groupsOf);
  if (before === null || before === undefined || after === null) return null;
  const missing = 8 - before.length - (after?.length ?? 0);
  if (after === undefined ? missing !== 0 : missing < 1) return null;
  const groups = [
    ...before,
    ...new Array<number>(missing).fill(0),
    ...after ?? [],
  ];
  return Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 255]));
}

function groupsOf(text: string): number[] | null {
  if (text === "") return [];
  const groups: number[] = [];
  const parts = text.split(":");
  for (const [index, part] of parts.entries()) {
    const ipv4 = index === parts.length - 1 && part.includes(".") ? parseIpv4(part) : null;
    if (ipv4 !== null) {
      groups.push((ipv4[0]! << 8) | ipv4[1]!, (ipv4[2]! << 8) | ipv4[3]!);
    } else if (/^[0-9a-f]{1,4}$/i.test(part)) groups.push(parseInt(part, 16));
    else return null;
  }
  return groups;
}

/** The canonical text (RFC 5952) of 4 or 16 bytes. */
export function formatAddress(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join(".");
  const groups = Array.from(
    { length: 8 },
    (_, index) => ((bytes[2 * index]! << 8) | bytes[2 * index + 1]!).toString(16),
  );
  const zeros = longestZeros(groups);
  if (zeros === null) return groups.join(":");
  return `${groups.slice(0, zeros.from).join(":")}::${groups.slice(zeros.to).join(":")}`;
}

/** The first of the longest runs of at least two zeros. */
function longestZeros(
  groups: readonly string[],
): { from: number; to: number } | null {
  let longest: { from: number; to: number } | null = null;
  for (let from = 0; from < groups.length; from++) {
    let to = from;
    while (groups[to] === "0") to++;
    if (
      to - from > Math.max(1, longest === null ? 0 : longest.to - longest.from)
    ) {
      longest = { from, to };
    }
  }
  return longest;
}
