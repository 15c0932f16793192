import type { Address } from "../stun/address.ts";

/** RFC 8656, 12. A number is not used again: its first meaning may still be under way. */
const FIRST_CHANNEL = 0x4000;
const LAST_CHANNEL = 0x4fff;

/** A channel lasts 10 minutes, and one that carries nothing for so long is not renewed. */
const IDLE = 300_000;

export interface Channel {
  readonly number: number;
  readonly peer: Address;
  isBound: boolean;
  usedAt: number;
}

/** Short names for those that datagrams are exchanged with: 4 bytes a datagram, and not 36. */
export class Channels {
  readonly #byPeer = new Map<string, Channel>();
  readonly #byNumber = new Map<number, Channel>();
  #next = FIRST_CHANNEL;

  /** Null if the peer has one, or if all numbers are used up: there is another way to send. */
  add(peer: Address, now: number): Channel | null {
    if (this.#byPeer.has(keyOf(peer)) || this.#next > LAST_CHANNEL) return null;
    const channel: Channel = { number: this.#next++, peer, isBound: false, usedAt: now };
    this.#byPeer.set(keyOf(peer), channel);
    this.#byNumber.set(channel.number, channel);
    return channel;
  }

  to(peer: Address): Channel | undefined {
    return this.#byPeer.get(keyOf(peer));
  }

  byNumber(number: number): Channel | undefined {
    return this.#byNumber.get(number);
  }

  remove({ number, peer }: Channel): void {
    this.#byPeer.delete(keyOf(peer));
    this.#byNumber.delete(number);
  }

  /** Those to renew; the others are forgotten. */
  takeUsed(now: number): Channel[] {
    for (const channel of [...this.#byPeer.values()]) {
      if (now - channel.usedAt >= IDLE) this.remove(channel);
    }
    return [...this.#byPeer.values()];
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
