import type { Endpoint } from "../../wireguard/tunnel.ts";
import { kindOf, parseEndpoint } from "../places/address_kinds.ts";
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
  /** What the endpoints of this side's relays are called, the newest first. */
  readonly relays: readonly string[];
  /** Whether this socket, at one of its own addresses, is meant. */
  readonly isSelf: (place: { readonly address: string; readonly port: number }) => boolean;
}

/** A name may have more addresses, and nobody has more endpoints. */
const MOST_PLACES = 12;

/**
 * All ways to a peer, the best first. What does not parse, or cannot be another host, is left out:
 * it comes from the peer.
 */
export function candidatesOf(
  { endpoints, observed_endpoint: observed }: Whereabouts,
  { names, ranks, relays, isSelf }: CandidateOptions,
): Endpoint[] {
  const places = new Map<string, { readonly address: string; readonly port: number }>();
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
    // A relay's address is of IPv4.
    ...(place.address.includes(":") ? [] : relays.map((via) => ({ ...place, via }))),
  ]);
  return ways.sort((one, other) => ranks.rankOf(one) - ranks.rankOf(other));
}
