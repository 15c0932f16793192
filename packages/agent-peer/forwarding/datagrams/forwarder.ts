/**
 * Forwards WireGuard's datagrams between the kernel and the paths to peers. It has no key, so it
 * cannot authenticate a datagram's sender. It relies on the indices of sessions, which are not
 * encrypted. `Paths` uses it in place of a tunnel.
 */
import { Buffer } from "node:buffer";
import { CookieBaker } from "../../wireguard/handshake/cookies.ts";
import { Load } from "../../wireguard/handshake/load.ts";
import { type Endpoint, isSameEndpoint } from "../../wireguard/surroundings.ts";
import type { PathTunnel } from "../../paths/paths.ts";
import type { HostAndPort } from "../../paths/places/address_kinds.ts";
import type { PeerStats } from "../../wireguard/tunnel.ts";
import type { KernelPeer } from "../kernel.ts";
import { Initiations } from "./initiations.ts";
import { headerOf } from "./messages.ts";
import type { ForwarderOptions } from "./options.ts";
import { LOOPBACK, Ports } from "./ports.ts";
import { DISCARD, PUNCH } from "./punches.ts";
import { IndexTable, newSession, type Port, type Session } from "./sessions.ts";
import { COPIES, isOpen, isStrangers, nextCopy, noteAnswer, withoutStranger } from "./stranger.ts";

/** Milliseconds between two punches to a peer that is not sought. */
const PUNCH_INTERVAL = 2000;

/** The most responses per initiation. Only one is genuine, but anyone who sees it can respond. */
const MOST_ANSWERS = 8;

/** The kernel sees whether a peer answers, and starts another handshake by itself. */
const UNSEEN = { unansweredFor: null, silentFor: null };

export class Forwarder implements PathTunnel {
  /** Changes if the kernel's interface gets another key. */
  publicKey: string;
  readonly #options: ForwarderOptions;
  readonly #ports: Ports;
  /** Sessions by the index that the kernel chose. */
  readonly #own: IndexTable;
  /** Sessions by the index that the peer chose. */
  readonly #remotes: IndexTable;
  readonly #initiations: Initiations;
  readonly #load = new Load();
  /**
   * The port of the kernel's WireGuard. Other local programs must not send through a peer's port.
   */
  kernelPort = 0;

  constructor(options: ForwarderOptions) {
    this.#options = options;
    this.publicKey = options.publicKey;
    this.#ports = new Ports({
      openSocket: options.openSocket,
      kernelPort: () => this.kernelPort,
      onLeaving: (datagram, port) => this.#leave(datagram, port),
      onStrange: (datagram, from, port) => this.receiveDatagram(datagram, from, port),
    });
    this.#own = new IndexTable(options.surroundings);
    this.#remotes = new IndexTable(options.surroundings);
    this.#initiations = new Initiations({
      surroundings: options.surroundings,
      rankOf: this.#rankOf,
      send: (datagram, to, port) => this.#send(datagram, to, port),
    });
  }

  /** The loopback port for a peer. Opens the port if it is not open. */
  async open(publicKey: string): Promise<number> {
    return (await this.#ports.open(publicKey)).socket!.port;
  }

  close(publicKey: string): void {
    const port = this.#ports.get(publicKey);
    if (port !== undefined) {
      this.#initiations.end(port);
      this.#own.forget((session) => session.port === port);
      this.#remotes.forget((session) => session.port === port);
    }
    this.#ports.close(publicKey);
  }

  closeAll(): void {
    for (const publicKey of this.publicKeys) this.close(publicKey);
    this.#ports.closeGuests();
  }

  /** See `Ports`. */
  handOver(
    peers: readonly Pick<KernelPeer, "publicKey" | "endpoint">[],
  ): Map<string, string | null> {
    const handed = this.#ports.handOver(peers);
    for (const heir of handed.values()) {
      if (heir !== null) this.#initiations.end(this.#ports.get(heir)!);
    }
    return handed;
  }

  portOf(publicKey: string): number | null {
    return this.#ports.get(publicKey)?.socket?.port ?? null;
  }

  /** Whether a port is the guests' port, which belongs to no single peer. */
  isGuests(port: number): boolean {
    return this.#ports.guests.socket?.port === port;
  }

  /** Moves the sessions at the guests' port to the port of a peer, the only one there. */
  claimGuests(publicKey: string): void {
    const port = this.#ports.get(publicKey);
    if (port === undefined) return;
    this.#own.forEach((session) => {
      if (session.port === this.#ports.guests) session.port = port;
    });
  }

  get publicKeys(): string[] {
    return this.#ports.publicKeys;
  }

  setPeers(
    peers: readonly { readonly publicKey: string; readonly endpoints: readonly Endpoint[] }[],
  ): void {
    for (const { publicKey, endpoints } of peers) {
      const port = this.#ports.get(publicKey);
      if (port !== undefined) port.ways = endpoints;
    }
  }

  /** `at`: in milliseconds of the surroundings' clock; null if there was no handshake. */
  setHandshake(publicKey: string, at: number | null): void {
    const port = this.#ports.get(publicKey);
    if (port === undefined || port.handshakeAt === at) return;
    port.handshakeAt = at;
    port.copies = COPIES;
    this.#initiations.end(port);
  }

  /** `place`: where the kernel reached the peer by itself; null if that must not be tried. */
  setOwn(publicKey: string, place: HostAndPort | null): void {
    const port = this.#ports.get(publicKey);
    if (port === undefined) return;
    const own = place && { address: place.host, port: place.port, via: port.stranger!.via };
    // If a relay leads there, a path from here may be better.
    port.own = own !== null && this.#rankOf(own) === 0 ? own : null;
    port.isOpen = false;
  }

  /** Whether the kernel can reach the peer at its own endpoint, without a port here. */
  isOpen(publicKey: string): boolean {
    const port = this.#ports.get(publicKey);
    return port !== undefined && isOpen(port);
  }

  /** Makes the kernel send a packet to this address of the peer in the mesh. */
  nudge(publicKey: string, address: string): void {
    this.#ports.get(publicKey)?.stranger?.send(PUNCH, { address, port: DISCARD });
  }

  stats(): PeerStats[] {
    return this.#ports.all.map(([publicKey, port]) => ({
      publicKey,
      endpoint: port.way && withoutStranger(port.way),
      handshakeAt: port.handshakeAt,
      ...UNSEEN,
      receivedBytes: port.receivedBytes,
      sentBytes: port.sentBytes,
    }));
  }

  /** Only the kernel can start a handshake. This makes routers let the peer's datagrams in. */
  tryEndpoints(_publicKey: string, ways: readonly Endpoint[]): void {
    for (const way of ways) {
      if (this.#options.rankOf(way) === 0) this.#options.send(PUNCH, way);
    }
  }

  /**
   * For every peer without a direct path: sends the kernel's initiation again, or does the same as
   * `tryEndpoints`. Peers that are not sought get this less often: they may be offline for days.
   */
  punch(isSought: (publicKey: string) => boolean): void {
    const now = this.#options.surroundings.now();
    for (const [publicKey, port] of this.#ports.all) {
      if (port.way !== null && this.#rankOf(port.way) === 0) continue;
      if (!isSought(publicKey) && now - port.punchedAt < PUNCH_INTERVAL) continue;
      port.punchedAt = now;
      const isFirst = this.publicKey < publicKey;
      if (!this.#initiations.repeat(port, { isFirst })) this.tryEndpoints(publicKey, port.ways);
    }
  }

  /**
   * Takes a datagram from the network. Anyone may have sent it. `only`: the port whose stranger has
   * received it; a datagram for another port is dropped.
   */
  receiveDatagram(datagram: Uint8Array, from: Endpoint, only: Port | null = null): void {
    const header = headerOf(datagram);
    if (header === null) return;
    if (header.type === "initiation") {
      return this.#receiveInitiation(datagram, header.sender, { from, only });
    }
    const session = this.#own.get(header.receiver);
    if (session === undefined || session.port !== (only ?? session.port)) return;
    if (header.type === "response") {
      if (session.answered >= MOST_ANSWERS) return;
      session.answered++;
      // Only the kernel can tell which response is genuine: it sends to the index in that one.
      if (this.#remotes.get(header.sender) === undefined) {
        const { port } = session;
        this.#remotes.set(header.sender, newSession(port, from, header.receiver));
      }
    } else if (header.type === "data") {
      this.#follow(session, from);
      if (only !== null) noteAnswer(only, from);
    }
    this.#pass(datagram, session.port);
  }

  #receiveInitiation(
    datagram: Uint8Array,
    sender: number,
    { from, only }: { readonly from: Endpoint; readonly only: Port | null },
  ): void {
    const ports = only === null ? this.#ports.all.map(([, port]) => port) : [only];
    // Ignore all other addresses: peers without a port here have a better path.
    const isHere = ({ way, ways }: Port) =>
      way?.address === from.address || ways.some(({ address }) => address === from.address);
    const { surroundings } = this.#options;
    const macs = new CookieBaker(Buffer.from(this.publicKey, "base64"), surroundings);
    // Hosts that share a peer's address but do not know this host's key must not use up its limit.
    if (!ports.some(isHere) || !macs.hasRightMac1(datagram)) return;
    // The kernel limits the rate per address, but everything from here has the same address.
    if (!this.#load.admits(from.address, surroundings.now())) return;
    const owners = ports.filter(({ ways }) =>
      ways.some(({ address, port }) => address === from.address && port === from.port)
    );
    const port = only ?? (owners.length === 1 ? owners[0]! : this.#ports.guests);
    // Keep the path by which the first copy arrived. The kernel drops later copies.
    const known = this.#remotes.get(sender);
    if (known === undefined) this.#remotes.set(sender, newSession(port, from));
    this.#pass(datagram, port);
  }

  /** Moves a session to a better path on which the peer sends, if the peer has registered it. */
  #follow(session: Session, from: Endpoint): void {
    if (session.endpoint === null || this.#rankOf(from) >= this.#rankOf(session.endpoint)) return;
    if (session.port.ways.some((way) => isSameEndpoint(way, from))) session.endpoint = from;
  }

  #pass(datagram: Uint8Array, port: Port): void {
    port.receivedBytes += datagram.length;
    port.socket?.send(datagram, { address: LOOPBACK, port: this.kernelPort });
  }

  /** Sends a datagram of the kernel to a peer. */
  #leave(datagram: Uint8Array, port: Port): void {
    const header = headerOf(datagram);
    if (header === null) return;
    if (header.type === "initiation") {
      this.#own.set(header.sender, newSession(port));
      return this.#initiations.begin(port, { datagram, index: header.sender });
    }
    // The kernel responds to the peer's initiation, so it has dropped its own.
    if (header.type === "response") this.#initiations.end(port);
    const session = this.#remotes.get(header.receiver);
    if (session !== undefined) {
      if (header.type === "response") this.#own.set(header.sender, session);
      this.#confirm(session);
      if (port !== this.#ports.guests) {
        session.port = port;
        port.way = session.endpoint;
      }
    }
    // If the session is unknown, such as one from before the port was opened, use the port's path.
    const to = session?.endpoint ?? port.way;
    const copyTo = header.type === "data" ? nextCopy(port, to) : null;
    // First, because the peer answers where the first copy came from, and drops the second.
    if (copyTo !== null) this.#send(datagram, copyTo, port);
    if (to !== null) this.#send(datagram, to, port);
  }

  /** The kernel sends to this session, so its response to the initiation was the genuine one. */
  #confirm(session: Session): void {
    const { answers, port } = session;
    if (answers === null) return;
    session.answers = null;
    this.#own.set(answers, session);
    if (port.initiation?.index === answers) this.#initiations.end(port);
  }

  #send(datagram: Uint8Array, to: Endpoint, port: Port): void {
    port.sentBytes += datagram.length;
    if (isStrangers(to)) port.stranger?.send(datagram, to);
    else this.#options.send(datagram, to);
  }

  readonly #rankOf = (endpoint: Endpoint): number =>
    this.#options.rankOf(withoutStranger(endpoint));
}
