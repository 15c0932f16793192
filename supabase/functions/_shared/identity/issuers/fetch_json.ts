/** Fetches what an issuer publishes. Refuses internal addresses, redirects and large answers. */
import { Buffer } from "node:buffer";
import { BlockList, isIP } from "node:net";

const MOST_BYTES = 256 * 1024;

/**
 * Networks that are not the internet (RFC 6890), and networks that translate to them. There is one
 * list per family, because `BlockList` also looks for an IPv4 address in IPv6 networks, and
 * `::ffff:0:0/96` contains all of them.
 */
const INSIDE = { 4: new BlockList(), 6: new BlockList() };
for (
  const [network, prefix] of [
    ["0.0.0.0", 8],
    ["10.0.0.0", 8],
    ["100.64.0.0", 10],
    ["127.0.0.0", 8],
    ["169.254.0.0", 16],
    ["172.16.0.0", 12],
    ["192.0.0.0", 24],
    ["192.168.0.0", 16],
    ["198.18.0.0", 15],
    ["224.0.0.0", 3],
  ] as const
) INSIDE[4].addSubnet(network, prefix, "ipv4");
for (
  const [network, prefix] of [
    ["::", 96],
    ["::ffff:0:0", 96],
    ["64:ff9b::", 96],
    ["64:ff9b:1::", 48],
    ["100::", 64],
    ["2001::", 32],
    ["2002::", 16],
    ["fc00::", 7],
    ["fe80::", 10],
    ["fec0::", 10],
    ["ff00::", 8],
  ] as const
) INSIDE[6].addSubnet(network, prefix, "ipv6");

const NAMES_INSIDE = /(?:^|\.)(?:localhost|local|internal|intranet|lan|home\.arpa|onion)$/;

export interface UrlOptions {
  /** Whether http://127.0.0.1 is allowed. */
  readonly allowLoopback: boolean;
  /** An issuer has no query (OpenID Connect Discovery 1.0, 3). The address of its keys may. */
  readonly allowQuery?: boolean;
}

/** What is wrong with the URL of an issuer or of its keys; null: nothing. */
export function urlComplaint(
  text: string,
  { allowLoopback, allowQuery = false }: UrlOptions,
): string | null {
  const url = URL.parse(text);
  const forbidden = allowQuery ? /[#\s\\]/ : /[?#\s\\]/;
  if (url === null || url.username || url.password || forbidden.test(text)) {
    return `Must be a URL without user${allowQuery ? "" : ", query"} or fragment.`;
  }
  if (![url.href, url.href.slice(0, -1)].includes(text)) {
    return `Must be spelled as ${url.href}.`;
  }
  if (allowLoopback && url.protocol === "http:" && url.hostname === "127.0.0.1") return null;
  if (url.protocol !== "https:") return "Must be https.";
  const host = url.hostname.replace(/\.+$/, "");
  if (host.startsWith("[") || isIP(host) !== 0) return "Must have a name, not an address.";
  if (!host.includes(".") || NAMES_INSIDE.test(host)) return "Must be a public DNS name.";
  return null;
}

/** The addresses of a name; null if the runtime cannot look them up, or finds none. */
export async function resolve(host: string, signal: AbortSignal): Promise<string[] | null> {
  const { resolveDns } = Deno as { resolveDns?: typeof Deno.resolveDns };
  if (typeof resolveDns !== "function") return null;
  const lookups = await Promise.allSettled([
    resolveDns(host, "A", { signal }),
    resolveDns(host, "AAAA", { signal }),
  ]);
  signal.throwIfAborted();
  const found = lookups.flatMap((lookup) => lookup.status === "fulfilled" ? lookup.value : []);
  return found.length > 0 ? found : null;
}

/** Whether an address belongs to the public internet. */
export function isPublic(address: string): boolean {
  const family = isIP(address) as 0 | 4 | 6;
  return family !== 0 && !INSIDE[family].check(address, `ipv${family}`);
}

/** Fetches JSON. Throws unless the answer is a 200 of at most MOST_BYTES. */
export async function fetchJson(
  address: string,
  options: UrlOptions & { readonly signal: AbortSignal },
): Promise<unknown> {
  const complaint = urlComplaint(address, options);
  if (complaint !== null) throw new Error(complaint);
  const url = new URL(address);
  const { signal } = options;
  if (url.protocol === "https:") {
    const addresses = await resolve(url.hostname, signal);
    if (addresses !== null && !addresses.every(isPublic)) {
      throw new Error("has an address inside a private network.");
    }
  }
  const headers = { accept: "application/json" };
  const response = await fetch(url, { redirect: "manual", signal, headers });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`answered with status ${response.status}.`);
  }
  return await readJson(response, MOST_BYTES);
}

/** Parses a body as JSON. Throws if it is not JSON, or larger than `mostBytes`. */
export async function readJson(response: Response, mostBytes: number): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop early cancels the body.
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > mostBytes) throw new Error(`answered more than ${mostBytes} bytes.`);
    chunks.push(chunk);
  }
  // Without a byte order mark, which a parser may ignore (RFC 8259, 8.1).
  const text = new TextDecoder().decode(Buffer.concat(chunks));
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message would quote the text.
    throw new Error(`answered no JSON (${response.headers.get("content-type") ?? "no type"}).`);
  }
}
