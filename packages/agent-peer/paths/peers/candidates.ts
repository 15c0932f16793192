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
  /** This side's own relay. */
  readonly relay: {
    /** The `via` of endpoints that this relay reaches. */
    readonly via: string;
    readonly relayed: Place;
  } | null;
  /** Whether the place is this socket itself, at one of its own addresses. */
  readonly isSelf: (place: Place) => boolean;
}

/** A limit for names with many addresses. No peer has more endpoints than this. */
const MOST_PLACES = 12;

/**
 * All candidate paths to a peer, the best first. The peer chooses the endpoints, so those that do
 * not parse or cannot be another host are left out.
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

/** The addresses that a relay must let through: all that this side sends to by the relay. */
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
