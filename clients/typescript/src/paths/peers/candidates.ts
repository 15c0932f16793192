import type { Endpoint, PeerStats } from "../../wireguard/tunnel.ts";
import { kindOf, parseEndpoint } from "../places/address_kinds.ts";
import type { Place } from "../places/own_endpoints.ts";
import type { Names } from "../places/names.ts";
import { DIRECT, type Ranks } from "./ranks.ts";

/** Where a peer says that it is, and where others saw it. */
export interface Whereabouts {
  /** Each `<host>:<port>`, as at /peer/register. */
  readonly endpoints: readonly string[];
  readonly observed_endpoint: string | null;
}

export interface CandidateOptions {
  readonly names: Names;
  readonly ranks: Ranks;
  /** This side's own. */
  readonly relay: {
    /** What its endpoints are called. */
    readonly via: string;
    readonly relayed: Place;
  } | null;
  /** Whether this socket, at one of its own addresses, is meant. */
  readonly isSelf: (place: Place) => boolean;
}

/** A name may have more addresses, and nobody has more endpoints. */
const MOST_PLACES = 12;

/**
 * All ways to a peer, the best first. What does not parse, or cannot be another host, is left out:
 * it comes from the peer.
 */
export function candidatesOf(
  { endpoints, observed_endpoint: observed }: Whereabouts,
  { names, ranks, relay, isSelf }: CandidateOptions,
): Endpoint[] {
  const places = new Map<string, Place>();
  for (const text of [...endpoints, ...(observed === null ? [] : [observed])]) {
    const parsed = parseEndpoint(text);
    for (const address of parsed === null ? [] : names.addressesOf(parsed.host)) {
      const place = { address, port: parsed!.port };
      if (kindOf(address) !== "none" && !isSelf(place)) {
        places.set(`${address} ${place.port}`, place);
      }
    }
  }
  const ways = [...places.values()].slice(0, MOST_PLACES).flatMap((place) => [
    { ...place, via: DIRECT },
    ...(relay !== null && isReachedFrom(relay.relayed, place)
      ? [{ ...place, via: relay.via }]
      : []),
  ]);
  return ways.sort((one, other) => ranks.rankOf(one) - ranks.rankOf(other));
}

/** Whom a relay has to let through: all to whom this side sends by it. */
export function addressesToPermit(
  peers: readonly { readonly endpoints: readonly Endpoint[] }[],
  stats: readonly Pick<PeerStats, "endpoint">[],
): string[] {
  const used = stats.flatMap(({ endpoint }) => endpoint === null ? [] : [endpoint]);
  const all = [...peers.flatMap(({ endpoints }) => endpoints), ...used]
    .filter(({ via }) => via !== DIRECT);
  return [...new Set(all.map(({ address }) => address))];
}

/** A relay on the internet cannot reach a private network, and should not be asked to. */
function isReachedFrom(relayed: Place, { address }: Place): boolean {
  const isSameFamily = relayed.address.includes(":") === address.includes(":");
  return isSameFamily && (kindOf(address) === "public" || kindOf(relayed.address) === "private");
}
