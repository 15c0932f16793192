import { formatEndpoint, kindOf } from "./address_kinds.ts";

export interface Place {
  readonly address: string;
  readonly port: number;
}

/** The most endpoints that /peer/register accepts. */
const MOST = 4;

/**
 * The endpoints to register, the most useful first. A host that supports only one endpoint takes
 * the first: a public IPv4 address or, behind a router, the relay's, which everyone reaches.
 */
export function ownEndpoints(
  { local, seen, relayed }: {
    readonly local: readonly Place[];
    /** Where STUN servers see the socket. */
    readonly seen: readonly Place[];
    readonly relayed: readonly Place[];
  },
): string[] {
  const here = addressesHere({ local, seen });
  const places = [
    ...here.filter((place) => !isIpv6(place)),
    ...relayed,
    ...seen,
    ...here.filter(isIpv6),
    ...local,
  ];
  return [...new Set(places.map(formatEndpoint))].slice(0, MOST);
}

/** Public addresses of this machine, at which others can reach it. None: it is behind a router. */
export function addressesHere(
  { local, seen }: { readonly local: readonly Place[]; readonly seen: readonly Place[] },
): readonly Place[] {
  // If a router replaces an address of this machine, that address is not reachable from outside.
  const seenIpv4 = seen.filter((place) => !isIpv6(place));
  return local.filter((place) =>
    kindOf(place.address) === "public" &&
    (isIpv6(place) || seenIpv4.length === 0 ||
      seenIpv4.some(({ address }) => address === place.address))
  );
}

function isIpv6({ address }: Place): boolean {
  return address.includes(":");
}
