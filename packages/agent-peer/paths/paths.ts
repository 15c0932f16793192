/**
 * The paths to other peers, outside of the tunnel: by a UDP socket and its public address, or a
 * relay.
 *
 *     const paths = await Paths.open({
 *       surroundings: systemSurroundings(),
 *       iceServers: () => postRelay(),              // the answer of /relay; null without a relay
 *       onChange: () => register(paths.endpoints()),
 *     });
 *     const tunnel = new Tunnel({ ..., send: paths.send, mayMove: paths.mayMove });
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
 * WireGuard's handshake checks the paths: an initiation goes by all paths at once, and the first
 * that answers is used. While that path is relayed, better ones are tried. After a change of the
 * network, everything starts again.
 */
import { openUdpSocket } from "../wireguard/sockets/open_udp_socket.ts";
import type { UdpSocket } from "../wireguard/sockets/udp_socket.ts";
import type { Endpoint, MayMove } from "../wireguard/tunnel.ts";
import type { PathPeer, PathsOptions, PathTunnel } from "./options.ts";
import { BlockedUdp } from "./peers/blocked_udp.ts";
import { addressesToPermit, candidatesOf, type Whereabouts } from "./peers/candidates.ts";
import { Improver } from "./peers/improver.ts";
import { keepaliveOf } from "./peers/keepalives.ts";
import { DIRECT, Ranks } from "./peers/ranks.ts";
import { type PathReport, reportOf } from "./peers/reports.ts";
import { localAddresses as systemAddresses } from "./places/local_addresses.ts";
import { lookUp as systemLookUp, Names } from "./places/names.ts";
import { NetworkWatch } from "./places/network_watch.ts";
import { addressesHere, ownEndpoints, type Place } from "./places/own_endpoints.ts";
import type { IceServer, RelayAnswer } from "./relays/ice_servers.ts";
import { openAllocation } from "./relays/open_allocation.ts";
import { proxyForRelays } from "./relays/proxy.ts";
import { RelayKeeper } from "./relays/relay_keeper.ts";
import { stunPlaces, turnAddresses } from "./relays/server_places.ts";
import { Reflections } from "./stun/reflections.ts";

export type { IceServer, PathPeer, PathReport, PathsOptions, PathTunnel, RelayAnswer };

/** In milliseconds. */
const [TICK, GATHERING, LATE_ANSWER] = [1000, 4000, 300];
const NAMES_EVERY = 20;

export class Paths {
  readonly #options: PathsOptions;
  readonly #ranks = new Ranks();
  readonly #names: Names;
  readonly #reflections: Reflections;
  readonly #relays: RelayKeeper;
  readonly #blockedUdp: BlockedUdp;
  readonly #improver: Improver;
  readonly #network: NetworkWatch;
  #gathered: Promise<unknown> = Promise.resolve();
  #socket: UdpSocket | null = null;
  #tunnel: PathTunnel | null = null;
  #peers: readonly PathPeer[] = [];
  #servers: readonly IceServer[] = [];
  #ticks = 0;
  #stopTimer = () => {};
  #isClosed = false;

  private constructor(options: PathsOptions) {
    this.#options = options;
    const { surroundings, iceServers, openSocket = openUdpSocket, ca, proxy } = options;
    const { localAddresses = systemAddresses, lookUp = systemLookUp } = options;
    this.#names = new Names({ surroundings, lookUp, onChange: () => this.#onNames() });
    this.#network = new NetworkWatch(surroundings, localAddresses);
    this.#reflections = new Reflections({
      surroundings,
      send: (datagram, to) => this.#socket?.send(datagram, to),
      onChange: () => this.#onPlaces(),
    });
    this.#relays = new RelayKeeper({
      surroundings,
      iceServers,
      proxyFor: proxyForRelays(proxy),
      isUdpBlocked: () => this.#reflections.isBlocked,
      open: (attempt, hooks) =>
        openAllocation(attempt, {
          ...hooks,
          surroundings,
          openSocket,
          localAddresses,
          lookUp,
          ...(ca !== undefined && { ca }),
          onDatagram: (datagram, from) => this.#tunnel?.receiveDatagram(datagram, from),
        }),
      onChange: () => this.#onRelays(),
      onServers: (answer) => this.#setServers(answer?.ice_servers ?? []),
    });
    this.#blockedUdp = new BlockedUdp({
      isBlocked: () => this.#reflections.isBlocked,
      hasRelay: () => this.hasRelay,
      now: () => surroundings.now(),
    });
    this.#improver = new Improver({
      surroundings,
      ranks: this.#ranks,
      relays: () => this.#relays.allocations.map(({ via }) => via),
      isUdpBlocked: () => this.#reflections.isBlocked,
    });
  }

  /** Rejects if `listenPort` is taken, and in Deno without `--unstable-net`. */
  static async open(options: PathsOptions): Promise<Paths> {
    const paths = new Paths(options);
    const { openSocket = openUdpSocket, listenPort: port = 0 } = options;
    paths.#socket = await openSocket({
      port,
      via: DIRECT,
      onDatagram: (datagram, from) => paths.#receive(datagram, from),
    });
    paths.#setServers([]);
    paths.#gathered = paths.#gather();
    paths.#tick();
    return paths;
  }

  /** The port of this module's UDP socket. */
  get listenPort(): number {
    return this.#socket!.port;
  }

  /** If there is no path, sends nothing and does not throw. */
  readonly send = (datagram: Uint8Array, to: Endpoint): void => {
    if (this.#isClosed) return;
    if (to.via !== DIRECT) this.#relays.find(to.via)?.send(datagram, to);
    else if (this.#blockedUdp.maySend(to)) this.#socket!.send(datagram, to);
  };

  get mayMove(): MayMove {
    return this.#ranks.mayMove;
  }

  attach(tunnel: PathTunnel): void {
    this.#tunnel = tunnel;
    this.#ranks.publicKey = tunnel.publicKey;
    this.#configureTunnel();
  }

  /** Resolves when this side's endpoints are known, or after a few seconds. */
  async whenGathered(): Promise<void> {
    let stop = () => {};
    const late = new Promise<void>((resolve) => {
      stop = this.#options.surroundings.after(GATHERING, resolve);
    });
    await Promise.race([this.#gathered, late]);
    stop();
  }

  /** Takes all peers, as Tunnel.setPeers does. */
  setPeers(peers: readonly PathPeer[]): void {
    this.#peers = peers;
    this.#configureTunnel();
  }

  /** The endpoints to register, at most 4, the most useful first. */
  endpoints(): string[] {
    const relayed = this.#relay === null ? [] : [this.#relay.relayed];
    return ownEndpoints({ ...this.#places, relayed });
  }

  /** All candidate paths to a peer, the best first. `setPeers` uses them. */
  candidates(peer: Whereabouts): Endpoint[] {
    return candidatesOf(peer, {
      names: this.#names,
      ranks: this.#ranks,
      relay: this.#relay,
      isSelf: ({ address, port }) =>
        port === this.listenPort && this.#network.addresses.includes(address),
    });
  }

  /** The number of relays on the path to an endpoint. */
  readonly rankOf = (endpoint: Endpoint): number => this.#ranks.rankOf(endpoint);

  get hasRelay(): boolean {
    return this.#relay !== null;
  }

  /** How each peer is reached now. */
  reports(): PathReport[] {
    const { surroundings } = this.#options;
    const stats = this.#tunnel?.stats() ?? [];
    return stats.map((one) => reportOf(one, { surroundings, ranks: this.#ranks }));
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stopTimer();
    this.#names.close();
    this.#reflections.close();
    this.#relays.close();
    this.#socket?.close();
  }

  get #places(): { readonly local: readonly Place[]; readonly seen: readonly Place[] } {
    const local = this.#network.addresses.map((address) => ({ address, port: this.listenPort }));
    return { local, seen: this.#reflections.addresses };
  }

  get #relay(): { readonly via: string; readonly relayed: Place } | null {
    const [newest] = this.#relays.allocations;
    return newest?.relayed ? { via: newest.via, relayed: newest.relayed } : null;
  }

  #receive(datagram: Uint8Array, from: Endpoint): void {
    if (this.#isClosed || this.#reflections.take(datagram, from)) return;
    this.#blockedUdp.heard(from);
    this.#tunnel?.receiveDatagram(datagram, from);
  }

  #configureTunnel(): void {
    if (this.#isClosed || this.#tunnel === null) return;
    const peers = this.#peers.map((peer) => ({
      ...peer,
      ...keepaliveOf(peer, { isBehindRouter: addressesHere(this.#places).length === 0 }),
      endpoints: this.candidates(peer),
    }));
    // Set permissions first: a relay drops datagrams from addresses without a permission.
    this.#relays.permitOnly(addressesToPermit(peers, this.#tunnel.stats()));
    this.#blockedUdp.setCandidates(peers.flatMap(({ endpoints }) => endpoints));
    this.#tunnel.setPeers(peers);
    this.#improver.setCandidates(
      new Map(peers.map(({ publicKey, endpoints }) => [publicKey, endpoints])),
    );
  }

  #onRelays(): void {
    this.#ranks.newestRelay = this.#relay?.via ?? null;
    // The STUN server did not answer for another reason: UDP is not blocked.
    if (this.#relays.worksByUdp && this.#reflections.isBlocked) void this.#reflections.restart();
    this.#onPlaces();
  }

  /** The relay or the socket's outer address has changed. */
  #onPlaces(): void {
    if (this.#isClosed) return;
    this.#findRelayAddresses();
    this.#configureTunnel();
    this.#options.onChange();
  }

  #onNames(): void {
    this.#setServers(this.#servers);
    this.#findRelayAddresses();
    this.#configureTunnel();
  }

  #findRelayAddresses(): void {
    this.#ranks.relayAddresses = new Set([
      ...turnAddresses(this.#servers, this.#names),
      ...this.#relays.allocations.map(({ relayed }) => relayed!.address),
    ]);
  }

  #setServers(servers: readonly IceServer[]): void {
    this.#servers = servers;
    const { stunServers = [] } = this.#options;
    void this.#reflections.setServers(stunPlaces(servers, { stunServers, names: this.#names }));
  }

  /** /relay also names the STUN servers. A STUN server answers faster than a relay opens. */
  async #gather(): Promise<void> {
    await this.#relays.start();
    await Promise.race([
      this.#reflections.whenKnown(),
      new Promise<void>((resolve) => this.#options.surroundings.after(LATE_ANSWER, resolve)),
    ]);
  }

  #tick(): void {
    this.#stopTimer = this.#options.surroundings.after(TICK, () => this.#tick());
    if (this.#network.hasChanged()) this.#restart();
    this.#ticks += 1;
    // Look up names again whose answers are old.
    if (this.#ticks % NAMES_EVERY === 0) { for (const peer of this.#peers) this.candidates(peer); }
    if (this.#tunnel !== null) this.#improver.run(this.#tunnel);
  }

  #restart(): void {
    this.#names.forget();
    void this.#reflections.restart();
    void this.#relays.restart();
    this.#configureTunnel();
    if (this.#tunnel !== null) this.#improver.restart(this.#tunnel);
    this.#options.onChange();
  }
}
