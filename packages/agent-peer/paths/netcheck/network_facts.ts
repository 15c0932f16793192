/** What a network lets through, as far as one host can find out. Null: not known. */
import type { Transport } from "../relays/ice_servers.ts";

/**
 * Which other hosts can reach this one by UDP once it knows them. `none`: there is no router that
 * changes addresses. `easy`: the router lets in the answers of any port. `port_restricted`: only of
 * the port that was sent to. `symmetric`: the router shows another port to each of them.
 */
export type NatKind = "none" | "easy" | "port_restricted" | "symmetric";

/** One way to a TURN server, and whether an address could be opened there. */
export interface RelayTrial {
  readonly transport: Transport;
  readonly isByProxy: boolean;
  /** `<host>:<port>` */
  readonly server: string;
  readonly works: boolean;
  /** Why not, without secrets. */
  readonly reason: string | null;
}

export interface NetworkFacts {
  /** The addresses of this host that others could reach. */
  readonly localAddresses: readonly string[];
  /** Whether a STUN server answers by UDP. Null if none is known. */
  readonly udpWorks: boolean | null;
  /** `<host>:<port>` from where a STUN server saw this host. */
  readonly seenAt: string | null;
  readonly nat: NatKind | null;
  readonly relays: readonly RelayTrial[];
}
