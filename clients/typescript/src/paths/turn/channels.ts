import type { Address } from "../stun/address.ts";

/** RFC 8656, 12. */
const FIRST_CHANNEL = 0x4000;
const CHANNELS = 0x1000;

/** In milliseconds. A relay keeps a channel for so long after the last request for it. */
const LIFETIME = 600_000;

/** How long before that nothing is sent by it any more: requests and datagrams take their time. */
const MARGIN = 15_000;

/** How long a number rests before it may mean another peer. */
const REST = 300_000;

/** A channel that carries nothing for so long is not renewed. */
const IDLE = 300_000;

/** How long a refusal counts. */
const REFUSED_FOR = 30_000;

/** So many datagrams to one place are worth a channel. */
const WORTH_A_CHANNEL = 4;
const MOST_COUNTED = 1000;

interface Channel {
  readonly number: number;
  readonly peer: Address;
  isAsking: boolean;
  askedAt: number;
  /** Until when datagrams are sent by it. */
  usableUntil: number;
  usedAt: number;
}

/**
 * Short names for those that datagrams are exchanged with: 4 bytes a datagram, and not 36. A number
 * and its peer belong together for as long as the relay may think so: it refuses another number for
 * that peer until then, and what it receives from the peer arrives under this one.
 */
export class Channels {
  readonly #bind: (number: number, peer: Address) => Promise<boolean | null>;
  readonly #now: () => number;
  readonly #byPeer = new Map<string, Channel>();
  readonly #byNumber = new Map<number, Channel>();
  readonly #sentTo = new Map<string, number>();
  #next = 0;

  constructor({ bind, now }: {
    /** Asks the relay. Resolves to whether it agrees; null if it does not answer. */
    readonly bind: (number: number, peer: Address) => Promise<boolean | null>;
    readonly now: () => number;
  }) {
    this.#bind = bind;
    this.#now = now;
  }

  /** The channel number to send to the peer with; null if no channel is usable. */
  numberOf(peer: Address): number | null {
    const channel = this.#byPeer.get(keyOf(peer));
    if (channel === undefined || this.#now() >= channel.usableUntil) return null;
    channel.usedAt = this.#now();
    return channel.number;
  }

  /** Who has sent what arrived by the number; null for a number that means nobody. */
  peerOf(number: number): Address | null {
    const channel = this.#byNumber.get(number);
    if (channel === undefined) return null;
    channel.usedAt = this.#now();
    return channel.peer;
  }

  /** A datagram was sent to the peer in another way. After a few, a channel is made. */
  count(peer: Address): void {
    const key = keyOf(peer);
    const count = (this.#sentTo.get(key) ?? 0) + 1;
    if (this.#sentTo.size >= MOST_COUNTED) this.#sentTo.clear();
    this.#sentTo.set(key, count);
    if (count < WORTH_A_CHANNEL) return;
    this.#sentTo.delete(key);
    const channel = this.#byPeer.get(key) ?? this.#add(peer);
    if (channel === null || this.#now() - channel.askedAt < REFUSED_FOR) return;
    channel.usedAt = this.#now();
    void this.#request(channel);
  }

  /** Is called every few minutes. Renews those that were used, of peers that are `wanted`. */
  renew(wanted: (address: string) => boolean): void {
    this.#forgetEnded();
    for (const channel of this.#byPeer.values()) {
      const isUsed = this.#now() - channel.usedAt < IDLE;
      if (isUsed && wanted(channel.peer.address)) void this.#request(channel);
    }
  }

  /** Null if all numbers are in use, or rest: there is another way to send. */
  #add({ address, port }: Address): Channel | null {
    if (this.#byNumber.size === CHANNELS) this.#forgetEnded();
    if (this.#byNumber.size === CHANNELS) return null;
    const channel: Channel = {
      number: this.#freeNumber(),
      peer: { address, port },
      isAsking: false,
      askedAt: -Infinity,
      usableUntil: -Infinity,
      usedAt: this.#now(),
    };
    this.#byPeer.set(keyOf(channel.peer), channel);
    this.#byNumber.set(channel.number, channel);
    return channel;
  }

  #freeNumber(): number {
    while (this.#byNumber.has(FIRST_CHANNEL + this.#next % CHANNELS)) this.#next += 1;
    return FIRST_CHANNEL + this.#next++ % CHANNELS;
  }

  #forgetEnded(): void {
    for (const [number, { peer, isAsking, askedAt }] of this.#byNumber) {
      if (isAsking || this.#now() - askedAt < LIFETIME + REST) continue;
      this.#byPeer.delete(keyOf(peer));
      this.#byNumber.delete(number);
    }
  }

  /** Makes a channel, or renews it. */
  async #request(channel: Channel): Promise<void> {
    if (channel.isAsking) return;
    channel.isAsking = true;
    const begunAt = channel.askedAt = this.#now();
    const isBound = await this.#bind(channel.number, channel.peer);
    // It may have been the last repetition that arrived.
    channel.askedAt = this.#now();
    channel.isAsking = false;
    if (isBound) channel.usableUntil = begunAt + LIFETIME - MARGIN;
    else if (isBound === false) channel.usableUntil = -Infinity;
  }
}

/** The message that carries a datagram (RFC 8656, 12.4). */
export function writeChannelData(datagram: Uint8Array, number: number): Uint8Array {
  const message = new Uint8Array(4 + datagram.length);
  message.set([number >> 8, number & 0xff, datagram.length >> 8, datagram.length & 0xff]);
  message.set(datagram, 4);
  return message;
}

/** Whether the message is of a channel, and no STUN message. */
export function isChannelData(message: Uint8Array): boolean {
  return message.length >= 4 && (message[0]! & 0xc0) === 0x40;
}

/** Null if the message is cut off. */
export function readChannelData(
  message: Uint8Array,
): { readonly number: number; readonly datagram: Uint8Array } | null {
  const end = 4 + (message[2]! << 8 | message[3]!);
  if (end > message.length) return null;
  return { number: message[0]! << 8 | message[1]!, datagram: message.subarray(4, end) };
}

function keyOf({ address, port }: Address): string {
  return `${address} ${port}`;
}
