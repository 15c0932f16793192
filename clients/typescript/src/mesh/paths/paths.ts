/**
 * The ways to other peers, outside of the tunnel: UDP sockets, where others see them, relays.
 *
 *     const paths = await Paths.open({
 *       surroundings: systemSurroundings(),
 *       iceServers: () => postRelay(),              // the answer of /relay; null without a relay
 *       onChange: () => register(paths.endpoints()),
 *     });
 *     const tunnel = new Tunnel({
 *       ...,
 *       send: paths.send,
 *       mayMove: paths.mayMove,
 *     });
 *     paths.attach(tunnel);                         // datagrams go to it, from now on
 *     await paths.whenGathered();                   // a few seconds at most
 *     register(paths.endpoints());
 *     // Whenever the configuration changes. Calls tunnel.setPeers, now and when a path changes.
 *     paths.setPeers(peers.map((peer) => ({
 *       publicKey, presharedKey, allowedIps, persistentKeepaliveSeconds,
 *       endpoints, observed_endpoint,               // texts, as /wg_config has them
 *     })));
 *     paths.reports();                              // for each peer, as /peer/heartbeat takes it
 *     paths.close();                                // before or after tunnel.close()
 *
 * WireGuard's handshake is the check of a way: an initiation goes to all ways at once, and the
 * first that answers is used. While it is a relayed one, better ones are tried.
 */
import { openUdpSocket, type UdpSocket } from "../wireguard/sockets/udp_socket.ts";
import type {
  Endpoint,
  MayMove,
  PeerConfiguration,
  PeerStats,
  Surroundings,
  Tunnel,
} from "../wireguard/tunnel.ts";
import { candidatesOf, type Whereabouts } from "./peers/candidates.ts";
import { DIRECT, Ranks } from "./peers/ranks.ts";
import { formatEndpoint, kindOf } from "./places/address_kinds.ts";
import { localAddresses } from "./places/local_addresses.ts";
import { Names } from "./places/names.ts";

export interface IceServer {
  /** One or more of RFC 7064 and RFC 7065, as a browser's RTCIceServer has them. */
  readonly urls: string | readonly string[];
  readonly username: string;
  readonly credential: string;
}

/** What POST /relay answers. */
export interface RelayAnswer {
  readonly ice_servers: readonly IceServer[];
  readonly expires_at: string;
}

export interface PathsOptions {
  readonly surroundings: Surroundings;
  /** Default: any free port. */
  readonly listenPort?: number;
  /** Null if no relay is set. May be called at any time; is called again if it rejects. */
  readonly iceServers: () => Promise<RelayAnswer | null>;
  /** `stun:` URLs. Default: those of `iceServers`, and its TURN servers, which are STUN servers. */
  readonly stunServers?: readonly string[];
  /** An HTTP proxy, for relays. Null: none. Default: what HTTPS_PROXY and NO_PROXY say. */
  readonly proxy?: URL | null;
  /** PEM: who signs the certificates of relays. Default: whom this system trusts. */
  readonly ca?: string;
  /** `endpoints()` has changed. */
  readonly onChange: () => void;
}

export interface PathPeer extends Omit<PeerConfiguration, "endpoints">, Whereabouts {}

export interface PathReport {
  readonly publicKey: string;
  readonly via: "direct" | "relay" | "none";
  /** `<host>:<port>` where the peer was last heard from. */
  readonly endpoint: string | null;
  readonly handshakeAgeSeconds: number | null;
}

/** As many as /peer/register takes. */
const MOST_ENDPOINTS = 4;

/** WireGuard's own limit: a session that is older is used no more. */
const SESSION_SECONDS = 180;

export class Paths {
  readonly #options: PathsOptions;
  readonly #ranks = new Ranks();
  readonly #names: Names;
  #socket: UdpSocket | null = null;
  #tunnel: Tunnel | null = null;
  #peers: readonly PathPeer[] = [];
  #localAddresses = localAddresses();
  #isClosed = false;

  private constructor(options: PathsOptions) {
    this.#options = options;
    this.#names = new Names({
      surroundings: options.surroundings,
      onChange: () => this.#configureTunnel(),
    });
  }

  /** Rejects if `listenPort` is taken, and in Deno without `--unstable-net`. */
  static async open(options: PathsOptions): Promise<Paths> {
    const paths = new Paths(options);
    paths.#socket = await openUdpSocket({
      port: options.listenPort ?? 0,
      via: DIRECT,
      onDatagram: (datagram, from) => paths.#receive(datagram, from),
    });
    return paths;
  }

  /** Of the own UDP socket. */
  get listenPort(): number {
    return this.#socket!.port;
  }

  /** Sends nothing, and throws nothing, where there is no way. */
  readonly send = (datagram: Uint8Array, to: Endpoint): void => {
    if (this.#isClosed) return;
    if (to.via === DIRECT) this.#socket!.send(datagram, to);
  };

  readonly mayMove: MayMove = this.#ranks.mayMove;

  attach(tunnel: Tunnel): void {
    this.#tunnel = tunnel;
    this.#configureTunnel();
  }

  /** Resolves when it is known where others see this side, or that it cannot be known. */
  whenGathered(): Promise<void> {
    return Promise.resolve();
  }

  /** Takes all peers, as Tunnel.setPeers does. */
  setPeers(peers: readonly PathPeer[]): void {
    this.#peers = peers;
    this.#configureTunnel();
  }

  /** What to register, the most useful first: at most 4. */
  endpoints(): string[] {
    const places = this.#localAddresses.map((address) => ({ address, port: this.listenPort }));
    const isPublic = ({ address }: { readonly address: string }) => kindOf(address) === "public";
    return [...places.filter(isPublic), ...places.filter((place) => !isPublic(place))]
      .map(formatEndpoint).slice(0, MOST_ENDPOINTS);
  }

  /** All ways to a peer, the best first. `setPeers` uses them. */
  candidates(peer: Whereabouts): Endpoint[] {
    return candidatesOf(peer, {
      names: this.#names,
      ranks: this.#ranks,
      relays: [],
      isSelf: ({ address, port }) =>
        port === this.listenPort && this.#localAddresses.includes(address),
    });
  }

  /** How each peer is reached now. */
  reports(): PathReport[] {
    return (this.#tunnel?.stats() ?? []).map((stats) => this.#reportOf(stats));
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#names.close();
    this.#socket?.close();
  }

  #receive(datagram: Uint8Array, from: Endpoint): void {
    if (!this.#isClosed) this.#tunnel?.receiveDatagram(datagram, from);
  }

  #configureTunnel(): void {
    if (this.#isClosed || this.#tunnel === null) return;
    this.#tunnel.setPeers(
      this.#peers.map((peer) => ({ ...peer, endpoints: this.candidates(peer) })),
    );
  }

  #reportOf({ publicKey, endpoint, lastHandshakeAt }: PeerStats): PathReport {
    const now = this.#options.surroundings.unixTime();
    const age = lastHandshakeAt === null
      ? null
      : Math.max(0, Math.floor((now - lastHandshakeAt) / 1000));
    const isUp = endpoint !== null && age !== null && age < SESSION_SECONDS;
    const kind = endpoint !== null && this.#ranks.rankOf(endpoint) === 0 ? "direct" : "relay";
    return {
      publicKey,
      via: isUp ? kind : "none",
      endpoint: endpoint && formatEndpoint(endpoint),
      handshakeAgeSeconds: age,
    };
  }
}
