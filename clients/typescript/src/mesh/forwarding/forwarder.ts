/**
 * Forwards WireGuard's datagrams between the kernel and the ways to peers. It has no key, so it
 * cannot tell from whom a datagram is. It goes by the indices of sessions, which are not encrypted.
 * For Paths it takes the place of a tunnel.
 */
import { Buffer } from "node:buffer";
import type { UdpOptions, UdpSocket } from "../../wireguard/sockets/udp_socket.ts";
import { CookieBaker } from "../../wireguard/handshake/cookies.ts";
import { Load } from "../../wireguard/handshake/load.ts";
import { type Endpoint, isSameEndpoint, type Surroundings } from "../../wireguard/surroundings.ts";
import type { PathTunnel } from "../../paths/paths.ts";
import type { PeerStats } from "../../wireguard/tunnel.ts";
import type { KernelPeer } from "./kernel.ts";
import { headerOf } from "./messages.ts";
import { IndexTable, newPort, newSession, type Port, type Session } from "./sessions.ts";

/** In milliseconds: so much earlier a handshake goes by direct ways than by relays. */
const HEAD_START = 1000;

/** WireGuard drops it: it is too short. A router lets in what comes back from there. */
const PUNCH = new Uint8Array(1);

const LOOPBACK = "127.0.0.1";

export interface ForwarderOptions {
  readonly surroundings: Surroundings;
  /** Of this host. */
  readonly publicKey: string;
  readonly send: (datagram: Uint8Array, to: Endpoint) => void;
  /** The number of relays on a way. */
  readonly rankOf: (endpoint: Endpoint) => number;
  readonly openSocket: (options: UdpOptions) => Promise<UdpSocket>;
}

/** One is right. Whoever sees an initiation can send others. */
const MOST_ANSWERS = 8;

export class Forwarder implements PathTunnel {
  /** The kernel may be given another one. */
  publicKey: string;
  readonly #options: ForwarderOptions;
  readonly #ports = new Map<string, Port>();
  /** For initiations of peers whose place is not known. */
  readonly #guests = newPort();
  /** By the indices that the kernel has given. */
  readonly #own: IndexTable;
  /** By the indices that peers have given. */
  readonly #remotes: IndexTable;
  readonly #waiting = new Map<number, () => void>();
  readonly #load = new Load();
  /** WireGuard's own. Other programs of this host may not send by a peer's port. */
  kernelPort = 0;

  constructor(options: ForwarderOptions) {
    this.#options = options;
    this.publicKey = options.publicKey;
    this.#own = new IndexTable(options.surroundings);
    this.#remotes = new IndexTable(options.surroundings);
  }

  /** The port of the loopback for a peer. Opens it if it is not open. */
  async open(publicKey: string): Promise<number> {
    if (this.#guests.socket === null) this.#guests.socket = await this.#listen(this.#guests);
    const known = this.#ports.get(publicKey);
    if (known !== undefined) return known.socket!.port;
    const port = newPort();
    port.socket = await this.#listen(port);
    this.#ports.set(publicKey, port);
    return port.socket.port;
  }

  close(publicKey: string): void {
    const port = this.#ports.get(publicKey);
    if (port === undefined) return;
    this.#ports.delete(publicKey);
    this.#own.forget((session) => session.port === port);
    this.#remotes.forget((session) => session.port === port);
    port.socket!.close();
    if (this.#ports.size > 0) return;
    this.#guests.socket?.close();
    this.#guests.socket = null;
  }

  /**
   * Takes the kernel's peers. Returns those with a port that are not among them, each with the peer
   * that has its port from now on, or null. The heir has called from where the vanished peer was,
   * and the kernel has it at that port: the same host with another key, whose session goes on.
   */
  handOver(
    peers: readonly Pick<KernelPeer, "publicKey" | "endpoint">[],
  ): Map<string, string | null> {
    const handed = new Map<string, string | null>();
    for (const [publicKey, port] of [...this.#ports]) {
      if (peers.some((peer) => peer.publicKey === publicKey)) continue;
      const place = `${LOOPBACK}:${port.socket!.port}`;
      const heir = peers.find((peer) =>
        peer.endpoint === place && !this.#ports.has(peer.publicKey)
      );
      handed.set(publicKey, heir?.publicKey ?? null);
      if (heir === undefined) continue;
      this.#ports.delete(publicKey);
      this.#ports.set(heir.publicKey, port);
    }
    return handed;
  }

  closeAll(): void {
    for (const publicKey of [...this.#ports.keys()]) this.close(publicKey);
    for (const stop of this.#waiting.values()) stop();
    this.#waiting.clear();
  }

  portOf(publicKey: string): number | null {
    return this.#ports.get(publicKey)?.socket?.port ?? null;
  }

  /** Of those that this has opened, the guests' port is nobody's own. */
  isGuests(port: number): boolean {
    return this.#guests.socket?.port === port;
  }

  /** The only peer at the guests' port gets what arrives for it by its own port from now on. */
  claimGuests(publicKey: string): void {
    const port = this.#ports.get(publicKey);
    if (port === undefined) return;
    this.#own.forEach((session) => {
      if (session.port === this.#guests) session.port = port;
    });
  }

  get publicKeys(): string[] {
    return [...this.#ports.keys()];
  }

  setPeers(
    peers: readonly { readonly publicKey: string; readonly endpoints: readonly Endpoint[] }[],
  ): void {
    for (const { publicKey, endpoints } of peers) {
      const port = this.#ports.get(publicKey);
      if (port !== undefined) port.ways = endpoints;
    }
  }

  /** In milliseconds of the clock of the surroundings. */
  setHandshake(publicKey: string, at: number | null): void {
    const port = this.#ports.get(publicKey);
    if (port !== undefined) port.handshakeAt = at;
  }

  stats(): PeerStats[] {
    return [...this.#ports].map(([publicKey, port]) => ({
      publicKey,
      endpoint: port.way,
      handshakeAt: port.handshakeAt,
      // Only the kernel knows, and it begins another handshake by itself.
      unansweredFor: null,
      receivedBytes: port.receivedBytes,
      sentBytes: port.sentBytes,
    }));
  }

  /** A handshake is the kernel's to begin. Until then, routers learn what to let in. */
  tryEndpoints(_publicKey: string, ways: readonly Endpoint[]): void {
    for (const way of ways) {
      if (this.#options.rankOf(way) === 0) this.#options.send(PUNCH, way);
    }
  }

  /** As `tryEndpoints`, for every peer that is not reached directly. */
  punch(): void {
    for (const { way, ways } of this.#ports.values()) {
      if (way === null || this.#options.rankOf(way) > 0) this.tryEndpoints("", ways);
    }
  }

  /** From a peer, or anybody. */
  receiveDatagram(datagram: Uint8Array, from: Endpoint): void {
    const header = headerOf(datagram);
    if (header === null) return;
    if (header.type === "initiation") return this.#receiveInitiation(datagram, header.sender, from);
    const session = this.#own.get(header.receiver);
    if (session === undefined) return;
    if (header.type === "response") {
      if (session.answered >= MOST_ANSWERS) return;
      session.answered++;
      // Nothing but the kernel can tell who it is: it sends to the index of the right one.
      if (this.#remotes.get(header.sender) === undefined) {
        const { port } = session;
        this.#remotes.set(header.sender, newSession(port, from, header.receiver));
      }
    } else if (header.type === "data") this.#follow(session, from);
    this.#pass(datagram, session.port);
  }

  #receiveInitiation(datagram: Uint8Array, sender: number, from: Endpoint): void {
    const ports = [...this.#ports.values()];
    // From the address of a peer without a port, nothing is wanted: it has a better way.
    const isHere = ({ way, ways }: Port) =>
      way?.address === from.address || ways.some(({ address }) => address === from.address);
    const { surroundings } = this.#options;
    const macs = new CookieBaker(Buffer.from(this.publicKey, "base64"), surroundings);
    // Others behind a peer's address do not know this host's key, and use up none of its limit.
    if (!ports.some(isHere) || !macs.hasRightMac1(datagram)) return;
    // The kernel's own limit is one per address, and all that comes from here has the same.
    if (!this.#load.admits(from.address, surroundings.now())) return;
    const owners = ports.filter(({ ways }) =>
      ways.some(({ address, port }) => address === from.address && port === from.port)
    );
    const port = owners.length === 1 ? owners[0]! : this.#guests;
    // By the first way that it arrives. The kernel drops what comes later.
    const known = this.#remotes.get(sender);
    if (known === undefined) this.#remotes.set(sender, newSession(port, from));
    this.#pass(datagram, port);
  }

  /** To a better way, on which the peer sends. Only to one that it has told of. */
  #follow(session: Session, from: Endpoint): void {
    const { rankOf } = this.#options;
    if (session.endpoint === null || rankOf(from) >= rankOf(session.endpoint)) return;
    if (session.port.ways.some((way) => isSameEndpoint(way, from))) session.endpoint = from;
  }

  #pass(datagram: Uint8Array, port: Port): void {
    port.receivedBytes += datagram.length;
    port.socket?.send(datagram, { address: LOOPBACK, port: this.kernelPort });
  }

  async #listen(port: Port): Promise<UdpSocket> {
    return await this.#options.openSocket({
      port: 0,
      via: LOOPBACK,
      isLoopback: true,
      onDatagram: (datagram, from) => {
        if (from.port === this.kernelPort && from.address === LOOPBACK) {
          this.#leave(datagram, port);
        }
      },
    });
  }

  /** From the kernel, to a peer. */
  #leave(datagram: Uint8Array, port: Port): void {
    const header = headerOf(datagram);
    if (header === null) return;
    if (header.type === "initiation") {
      this.#own.set(header.sender, newSession(port));
      return this.#begin(datagram, port, header.sender);
    }
    const session = this.#remotes.get(header.receiver);
    if (session !== undefined) {
      if (header.type === "response") this.#own.set(header.sender, session);
      this.#confirm(session);
      if (port !== this.#guests) {
        session.port = port;
        port.way = session.endpoint;
      }
    }
    // A session from before the port was opened is where the kernel had it.
    const to = session?.endpoint ?? port.way;
    if (to !== null) this.#send(datagram, to, port);
  }

  /** By all ways: the first that is answered is used. */
  #begin(datagram: Uint8Array, port: Port, index: number): void {
    const { rankOf, surroundings } = this.#options;
    const copy = new Uint8Array(datagram);
    const isDirect = (way: Endpoint) => rankOf(way) === 0;
    const ways = port.way === null || port.ways.some((way) => isSameEndpoint(way, port.way))
      ? port.ways
      : [port.way, ...port.ways];
    for (const way of ways.filter(isDirect)) this.#send(copy, way, port);
    const others = ways.filter((way) => !isDirect(way));
    if (others.length === 0) return;
    this.#waiting.set(
      index,
      surroundings.after(HEAD_START, () => {
        this.#waiting.delete(index);
        for (const way of others) this.#send(copy, way, port);
      }),
    );
  }

  /** The kernel sends to it: of those that claimed to answer, it is the one that did. */
  #confirm(session: Session): void {
    const { answers } = session;
    if (answers === null) return;
    session.answers = null;
    this.#own.set(answers, session);
    this.#waiting.get(answers)?.();
    this.#waiting.delete(answers);
  }

  #send(datagram: Uint8Array, to: Endpoint, port: Port): void {
    port.sentBytes += datagram.length;
    this.#options.send(datagram, to);
  }
}
