import type { Address } from "../stun/address.ts";

/** The channel numbers of RFC 8656, 12. */
const FIRST_CHANNEL = 0x4000;
const CHANNELS = 0x1000;

/** In milliseconds. How long a relay keeps a channel after the last request for it. */
const LIFETIME = 600_000;

/**
 * How long before the end of LIFETIME sending by the channel stops: requests and datagrams take
 * time to arrive.
 */
const MARGIN = 15_000;

/** How long the number of an ended channel stays unused before another peer can get it. */
const REST = 300_000;

/** A channel that carries nothing for this long is not renewed. */
const IDLE = 300_000;

/** How long a refusal counts. */
const REFUSED_FOR = 30_000;

/** The number of datagrams to one endpoint that are worth a channel. */
const WORTH_A_CHANNEL = 4;
const MOST_COUNTED = 1000;

interface Channel {
  readonly number: number;
  readonly peer: Address;
  isAsking: boolean;
  askedAt: number;
  /** Until when datagrams are sent by the channel. */
  usableUntil: number;
  usedAt: number;
}

/**
 * Channel numbers stand for peers, and take 4 bytes per datagram instead of 36. A number stays with
 * its peer as long as the relay may still have the channel. Until then, the relay refuses another
 * number for that peer, and datagrams from the peer arrive under this number.
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

  /** The peer of a channel number. Null if the number is unused. */
  peerOf(number: number): Address | null {
    const channel = this.#byNumber.get(number);
    if (channel === undefined) return null;
    channel.usedAt = this.#now();
    return channel.peer;
  }

  /**
   * Counts a datagram that was sent to the peer without a channel. After a few, requests a channel.
   */
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

  /** Call it every few minutes. Renews the channels that were used, of peers that are `wanted`. */
  renew(wanted: (address: string) => boolean): void {
    this.#forgetEnded();
    for (const channel of this.#byPeer.values()) {
      const isUsed = this.#now() - channel.usedAt < IDLE;
      if (isUsed && wanted(channel.peer.address)) void this.#request(channel);
    }
  }

  /** Null if no number is free. Datagrams can also be sent without a channel. */
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

  /** Requests a channel, or its renewal. */
  async #request(channel: Channel): Promise<void> {
    if (channel.isAsking) return;
    channel.isAsking = true;
    const begunAt = channel.askedAt = this.#now();
    const isBound = await this.#bind(channel.number, channel.peer);
    // Only the last repetition of the request may have arrived, so the lifetime may begin now.
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

/** Whether the message is channel data, not a STUN message. */
export function isChannelData(message: Uint8Array): boolean {
  return message.length >= 4 && (message[0]! & 0xc0) === 0x40;
}

/** Null if the message is truncated. */
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
