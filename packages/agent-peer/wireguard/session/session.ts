import { open, sealPadded, TAG_BYTES } from "../crypto/aead.ts";
import { type Data, DATA_HEADER_BYTES, TYPE, writeUint32 } from "../handshake/messages.ts";
import type { TransportKeys } from "../handshake/noise.ts";
import { REJECT_AFTER_MESSAGES, REJECT_AFTER_TIME } from "../handshake/limits.ts";
import { ReplayWindow } from "./replay_window.ts";

const PADDING = 16;

interface SessionOptions {
  readonly localIndex: number;
  readonly remoteIndex: number;
  readonly isInitiator: boolean;
  readonly keys: TransportKeys;
  readonly createdAt: number;
}

/** The keys of a completed handshake, and the message counters of both sides. */
export class Session {
  readonly localIndex: number;
  readonly isInitiator: boolean;
  readonly createdAt: number;
  readonly #remoteIndex: number;
  readonly #keys: TransportKeys;
  readonly #seen = new ReplayWindow();
  #sent = 0;

  constructor(
    { localIndex, remoteIndex, isInitiator, keys, createdAt }: SessionOptions,
  ) {
    this.localIndex = localIndex;
    this.#remoteIndex = remoteIndex;
    this.isInitiator = isInitiator;
    this.#keys = keys;
    this.createdAt = createdAt;
  }

  /** Messages sealed so far. */
  get sent(): number {
    return this.#sent;
  }

  isUsable(now: number): boolean {
    return now - this.createdAt < REJECT_AFTER_TIME &&
      this.#sent < REJECT_AFTER_MESSAGES;
  }

  /** Encrypts an IP packet. Returns the datagram. An empty packet makes a keepalive. */
  seal(packet: Uint8Array): Uint8Array<ArrayBuffer> {
    const length = Math.ceil(packet.length / PADDING) * PADDING;
    const datagram = new Uint8Array(DATA_HEADER_BYTES + length + TAG_BYTES);
    const counter = this.#sent++;
    datagram[0] = TYPE.data;
    writeUint32(datagram, { at: 4, value: this.#remoteIndex });
    writeUint32(datagram, { at: 8, value: counter % 2 ** 32 });
    writeUint32(datagram, { at: 12, value: Math.floor(counter / 2 ** 32) });
    const { send: key } = this.#keys;
    sealPadded(datagram, {
      key,
      counter,
      plaintext: packet,
      length,
      at: DATA_HEADER_BYTES,
    });
    return datagram;
  }

  /** Decrypts a message. If it is forged or was seen before, returns null and changes nothing. */
  open({ ciphertext, counter }: Data): Uint8Array<ArrayBuffer> | null {
    if (counter >= REJECT_AFTER_MESSAGES) return null;
    const plaintext = open(ciphertext, { key: this.#keys.receive, counter });
    // Only after the check of the tag: otherwise anyone could move the window.
    return plaintext !== null && this.#seen.accept(counter) ? plaintext : null;
  }

  destroy(): void {
    this.#keys.send.fill(0);
    this.#keys.receive.fill(0);
    // Allow no further message: anyone could read one that is encrypted with a key of zeros.
    this.#sent = REJECT_AFTER_MESSAGES;
  }
}
