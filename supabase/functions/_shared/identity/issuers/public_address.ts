/** Which URLs and addresses belong to the public internet. */
import { BlockList, isIP } from "node:net";

/**
 * Networks that are not the internet (RFC 6890), and networks that translate to them. There is one
 * list per family, because `BlockList` also looks for an IPv4 address in IPv6 networks, and
 * `::ffff:0:0/96` contains all of them.
 */
const INSIDE = {
  4: blockList(
    "ipv4",
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 " +
      "192.168.0.0/16 198.18.0.0/15 224.0.0.0/3",
  ),
  6: blockList(
    "ipv6",
    "::/96 ::ffff:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 2001::/32 2002::/16 fc00::/7 " +
      "fe80::/10 fec0::/10 ff00::/8",
  ),
};

function blockList(family: "ipv4" | "ipv6", networks: string): BlockList {
  const list = new BlockList();
  for (const each of networks.split(" ")) {
    const [network, prefix] = each.split("/");
    list.addSubnet(network!, Number(prefix), family);
  }
  return list;
}

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

/**
 * The addresses of a URL's host at this moment. Null: one of them is inside a private network.
 * Throws if it has none.
 */
export async function publicAddresses(
  { hostname }: URL,
  signal: AbortSignal,
): Promise<readonly string[] | null> {
  // `urlComplaint` has allowed it.
  if (hostname === "127.0.0.1") return [hostname];
  const lookups = await Promise.allSettled([
    Deno.resolveDns(hostname, "A", { signal }),
    Deno.resolveDns(hostname, "AAAA", { signal }),
  ]);
  signal.throwIfAborted();
  const found = lookups.flatMap((lookup) => lookup.status === "fulfilled" ? lookup.value : []);
  if (found.length === 0) throw new Error("has no address.");
  return found.every(isPublic) ? found : null;
}

/** Whether an address belongs to the public internet. */
export function isPublic(address: string): boolean {
  const family = isIP(address) as 0 | 4 | 6;
  return family !== 0 && !INSIDE[family].check(address, `ipv${family}`);
}
