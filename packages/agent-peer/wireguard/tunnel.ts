/**
 * WireGuard without a kernel, a TUN device or a socket. One side accepts and returns IP packets,
 * the other side accepts and returns datagrams.
 *
 *     const tunnel = new Tunnel({
 *       privateKey,                                  // 32 bytes; a copy is kept
 *       surroundings: systemSurroundings(),
 *       send: (datagram, to) => socket.send(datagram, to),
 *       // The peer is its public key, as `wg` writes it.
 *       onPacket: (packet, peer) => stack.input(packet),
 *     });
 *     socket.onDatagram = (datagram, from) => tunnel.receiveDatagram(datagram, from);
 *     tunnel.setPeers([{
 *       publicKey, presharedKey,                     // as `wg` writes them; null without a PSK
 *       allowedIps: ["10.213.0.2/32", "fd00::2/128"],
 *       endpoints: [{ address: "198.51.100.7", port: 51820, via: "udp" }],
 *       persistentKeepaliveSeconds: 25,
 *     }]);
 *     tunnel.sendPacket(ipPacket);                   // false if no peer has that address
 *     tunnel.stats();                                // for each peer: handshake, endpoint, bytes
 *     tunnel.close();
 *
 * `setPeers` takes all peers, and changes only what differs: a peer that stays keeps its sessions
 * when its PSK, its networks or its endpoints change. The sessions of a removed peer end at once.
 * `onPacket` gets a packet without padding, from an address that the peer may use, and may keep its
 * bytes. After `sendPacket` returns, the packet's bytes may change. Nothing here throws because of
 * data from the network.
 *
 * An initiation goes to all `endpoints` of a peer, and to the endpoint that it was last heard from.
 * The peer's endpoint is then where the first authentic answer came from. Every authentic message
 * may move it (roaming), unless `mayMove` says no. `tryEndpoints` begins a handshake by other paths
 * while the session continues.
 */
import { CookieBaker } from "./handshake/cookies.ts";
import { Load } from "./handshake/load.ts";
import { type Message, parseMessage, TYPE } from "./handshake/messages.ts";
import { ReceivedInitiation } from "./handshake/responder.ts";
import { Timestamps } from "./handshake/timestamp.ts";
import { Keypair } from "./crypto/x25519.ts";
import { formatKey } from "./key.ts";
import type { MayMove, Move, PeerContext } from "./peer/context.ts";
import { IndexTable } from "./peer/index_table.ts";
import type { Peer } from "./peer/peer.ts";
import { type PeerConfiguration, PeerTable } from "./peer/peer_table.ts";
import { Wakeups } from "./peer/wakeups.ts";
import type { PeerStats } from "./peer/whereabouts.ts";
import { readIpHeader } from "./routing/ip_packet.ts";
import type { Endpoint, Surroundings } from "./surroundings.ts";

export type { Endpoint, MayMove, Move, PeerConfiguration, PeerStats, Surroundings };

export interface TunnelOptions {
  readonly privateKey: Uint8Array;
  readonly surroundings: Surroundings;
  readonly send: (datagram: Uint8Array, to: Endpoint) => void;
  readonly onPacket: (packet: Uint8Array, peer: string) => void;
  /** Default: always, as WireGuard does. */
  readonly mayMove?: MayMove;
}

export class Tunnel {
  readonly #own: Keypair;
  readonly #surroundings: Surroundings;
  readonly #send: (datagram: Uint8Array, to: Endpoint) => void;
  readonly #onPacket: (packet: Uint8Array, peer: string) => void;
  readonly #baker: CookieBaker;
  readonly #load = new Load();
  readonly #indices: IndexTable<Peer>;
  readonly #peers: PeerTable;
  readonly #wakeups: Wakeups;
  #isClosed = false;

  constructor(
    { privateKey, surroundings, send, onPacket, mayMove = () => true }: TunnelOptions,
  ) {
    this.#own = new Keypair(privateKey);
    this.#surroundings = surroundings;
    this.#send = send;
    this.#onPacket = onPacket;
    this.#baker = new CookieBaker(this.#own.publicKey, surroundings);
    this.#indices = new IndexTable(surroundings);
    this.#wakeups = new Wakeups(surroundings, () => this.#peers.timers());
    const context: PeerContext = {
      own: this.#own,
      surroundings,
      timestamps: new Timestamps(),
      send,
      mayMove,
      wakeBy: (at) => this.#wakeups.wakeBy(at),
    };
    this.#peers = new PeerTable(context, this.#indices);
  }

  get publicKey(): string {
    return formatKey(this.#own.publicKey);
  }

  /** Throws RangeError, and changes nothing, if a key or a network is malformed. */
  setPeers(peers: readonly PeerConfiguration[]): void {
    if (!this.#isClosed) this.#peers.replace(peers);
  }

  /** Returns whether a peer has the packet's destination. The packet may still be lost. */
  sendPacket(packet: Uint8Array): boolean {
    const header = readIpHeader(packet);
    const peer = header && this.#peers.ownerOf(header.destination);
    if (!header || !peer) return false;
    peer.send(packet.subarray(0, header.length));
    return true;
  }

  receiveDatagram(datagram: Uint8Array, from: Endpoint): void {
    const message = this.#isClosed ? null : parseMessage(datagram);
    if (message === null) return;
    const arrived = { size: datagram.length, from };
    if (message.type === TYPE.data) {
      const entry = this.#indices.find(message.receiver);
      if (!entry?.session) return;
      const packet = entry.owner.receiveData(entry.session, {
        message,
        ...arrived,
      });
      if (packet !== null) this.#deliver(packet, entry.owner);
    } else if (message.type === TYPE.cookie) {
      this.#indices.find(message.receiver)?.owner.receiveCookie({
        message,
        ...arrived,
      });
    } else if (this.#admits(datagram, { message, from })) {
      this.#receiveHandshake(message, arrived);
    }
  }

  /**
   * Begins a handshake with a peer at these endpoints only, whatever the state of its session.
   * Sends the initiation once. Without an answer, an existing session continues.
   */
  tryEndpoints(publicKey: string, endpoints: readonly Endpoint[]): void {
    this.#peers.find(publicKey)?.tryEndpoints(endpoints);
  }

  stats(): PeerStats[] {
    return this.#peers.all().map((peer) => peer.stats());
  }

  /** Ends all sessions, silently, and forgets all keys. */
  close(): void {
    this.#isClosed = true;
    this.#peers.clear();
    this.#wakeups.stop();
    this.#own.destroy();
  }

  #deliver(packet: Uint8Array, peer: Peer): void {
    const header = readIpHeader(packet);
    // A peer may send only from its own addresses.
    if (header === null || this.#peers.ownerOf(header.source) !== peer) return;
    this.#onPacket(packet.subarray(0, header.length), peer.publicKey);
  }

  /**
   * Whether to process a handshake message. Under load, only that of a sender that has proved its
   * address by a cookie. Sends a cookie to the others.
   */
  #admits(
    datagram: Uint8Array,
    { message, from }: {
      readonly message: Extract<Message, { sender: number }>;
      readonly from: Endpoint;
    },
  ): boolean {
    if (!this.#baker.hasRightMac1(datagram)) return false;
    const now = this.#surroundings.now();
    if (this.#isExpected(message) || !this.#load.isHigh(now)) return true;
    if (this.#baker.hasRightMac2(datagram, from)) {
      return this.#load.admits(from.address, now);
    }
    this.#send(
      this.#baker.reply(datagram, { sender: message.sender, from }),
      from,
    );
    return false;
  }

  /**
   * Whether a message may complete a handshake that this side began. When a machine wakes up, it
   * receives so many old initiations that the answers to its own would be dropped under load.
   */
  #isExpected(message: Extract<Message, { sender: number }>): boolean {
    if (message.type !== TYPE.response) return false;
    const { receiver } = message;
    return this.#indices.find(receiver)?.owner.handshakes.expects(receiver) ?? false;
  }

  #receiveHandshake(
    message: Extract<Message, { sender: number }>,
    arrived: { readonly size: number; readonly from: Endpoint },
  ): void {
    if (message.type === TYPE.response) {
      this.#indices.find(message.receiver)?.owner.receiveResponse({
        message,
        ...arrived,
      });
      return;
    }
    const received = ReceivedInitiation.read(message, this.#own);
    const peer = received &&
      this.#peers.find(formatKey(received.senderPublicKey));
    if (received && peer) {
      peer.receiveInitiation(received, { message, ...arrived });
    }
  }
}
