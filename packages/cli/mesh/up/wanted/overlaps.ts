/** Which other networks of this host have addresses of the mesh. */
import type { Network } from "../../../../agent-peer/wireguard/routing/networks.ts";
import { networkOf, networkText, overlaps } from "./values.ts";

/** A route of this host. */
export interface Route {
  readonly network: Network;
  readonly device: string;
}

export interface Overlap {
  /** The network of this host, as CIDR notation has it. */
  readonly network: string;
  /** Names both networks, and the interface. */
  readonly sentence: string;
}

/** Parses what `ip -o route show table all` prints. Leaves out default routes. */
export function parseRoutes(text: string): Route[] {
  return text.split("\n").flatMap((line) => {
    const [, kind = "unicast", destination = ""] =
      /^(?:(unicast|local|broadcast|multicast|anycast|unreachable|blackhole|prohibit|throw) )?([0-9a-f:.]+(?:\/\d+)?) /
        .exec(`${line} `) ?? [];
    const [, device = "no device"] = / dev (\S+)/.exec(line) ?? [];
    // These routes belong to the addresses of this host, and so to another route.
    if (destination === "" || /^(?:broadcast|multicast|anycast)$/.test(kind)) return [];
    return [{ network: networkOf(destination), device }];
  });
}

/**
 * The first network of this host that overlaps one of the mesh; null if none does. Addresses in
 * both would lead to either.
 */
export function overlapOf(
  networks: readonly Network[],
  { routes, interfaceName }: {
    readonly routes: readonly Route[];
    readonly interfaceName: string;
  },
): Overlap | null {
  for (const { network, device } of routes) {
    if (device === interfaceName) continue;
    const taken = networks.find((own) => overlaps(own, network));
    if (taken === undefined || isEverything(network)) continue;
    const text = networkText(network);
    return {
      network: text,
      sentence: `the network ${networkText(taken)} of this mesh overlaps ${text}, ` +
        `to which this host has a route by ${device}`,
    };
  }
  return null;
}

function isEverything({ prefixLength, bytes }: Network): boolean {
  // fe80::/10 and ff00::/8 overlap no mesh. Half of all addresses, as some VPNs have it, is a
  // default route, too.
  return prefixLength <= (bytes.length === 4 ? 1 : 3);
}
