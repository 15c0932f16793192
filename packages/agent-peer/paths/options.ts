import type { UdpOptions, UdpSocket } from "../wireguard/sockets/udp_socket.ts";
import type { PeerConfiguration, Surroundings, Tunnel } from "../wireguard/tunnel.ts";
import type { Whereabouts } from "./peers/candidates.ts";
import type { RelayAnswer } from "./relays/ice_servers.ts";

export interface PathsOptions {
  readonly surroundings: Surroundings;
  /** Default: any free port. */
  readonly listenPort?: number;
  /**
   * Returns the answer of /relay, or null if no relay is set. May be called at any time; is called
   * again if it rejects.
   */
  readonly iceServers: () => Promise<RelayAnswer | null>;
  /** `stun:` URLs, besides the servers of `iceServers`: a TURN server is a STUN server, too. */
  readonly stunServers?: readonly string[];
  /** An HTTP proxy for relays. Null: no proxy. Default: from HTTPS_PROXY and NO_PROXY. */
  readonly proxy?: URL | null;
  /** PEM of the authorities to trust for relays. Default: those that this system trusts. */
  readonly ca?: string;
  /** Called when `endpoints()` may have changed. */
  readonly onChange: () => void;
  /** Default: opens a UDP socket of the system. */
  readonly openSocket?: (options: UdpOptions) => Promise<UdpSocket>;
  /** Default: the addresses of this machine that others could reach. */
  readonly localAddresses?: () => string[];
  /** All addresses of a name. Rejects if it has none. Default: asks the system. */
  readonly lookUp?: (name: string) => Promise<readonly string[]>;
}

export interface PathPeer extends Omit<PeerConfiguration, "endpoints">, Whereabouts {}

/** The part of a tunnel that concerns the paths to its peers. */
export interface PathTunnel
  extends Pick<Tunnel, "publicKey" | "receiveDatagram" | "stats" | "tryEndpoints"> {
  setPeers(peers: readonly PeerConfiguration[]): void;
}
