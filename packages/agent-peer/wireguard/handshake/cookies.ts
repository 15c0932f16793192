import { xOpen, xSeal } from "../crypto/aead.ts";
import { areEqual, hash, mac } from "../crypto/hash.ts";
import type { Endpoint, Surroundings } from "../surroundings.ts";
import { type CookieReply, macsOf, writeCookieReply } from "./messages.ts";
import { COOKIE_LIFETIME } from "./limits.ts";

const encoder = new TextEncoder();
const LABEL_MAC1 = encoder.encode("mac1----");
const LABEL_COOKIE = encoder.encode("cookie--");

/**
 * The sender's side: puts MACs on messages to one peer, and keeps the cookie that the peer gave.
 */
export class CookieJar {
  readonly #mac1Key: Uint8Array;
  readonly #cookieKey: Uint8Array;
  #lastMac1: Uint8Array | null = null;
  #cookie: { readonly value: Uint8Array; readonly since: number } | null = null;

  constructor(peerPublicKey: Uint8Array) {
    this.#mac1Key = hash(LABEL_MAC1, peerPublicKey);
    this.#cookieKey = hash(LABEL_COOKIE, peerPublicKey);
  }

  /** Writes both MACs into the message. Without a cookie the second one stays zero. */
  stamp(message: Uint8Array, now: number): void {
    const { mac1, mac2, beforeMac1, beforeMac2 } = macsOf(message);
    mac1.set(mac(this.#mac1Key, beforeMac1));
    this.#lastMac1 = new Uint8Array(mac1);
    if (this.#cookie !== null && now - this.#cookie.since < COOKIE_LIFETIME) {
      mac2.set(mac(this.#cookie.value, beforeMac2));
    }
  }

  /** Takes a cookie. Returns whether the reply belongs to the message that was stamped last. */
  take(reply: CookieReply, now: number): boolean {
    if (this.#lastMac1 === null) return false;
    const value = xOpen(reply.encryptedCookie, {
      key: this.#cookieKey,
      nonce: reply.nonce,
      ad: this.#lastMac1,
    });
    if (value === null) return false;
    this.#cookie = { value, since: now };
    this.#lastMac1 = null;
    return true;
  }
}

/** The receiver's side: checks MACs, and makes cookies without storing them. */
export class CookieBaker {
  readonly #mac1Key: Uint8Array;
  readonly #cookieKey: Uint8Array;
  readonly #surroundings: Surroundings;
  #secret: { readonly bytes: Uint8Array; readonly since: number } | null = null;

  constructor(ownPublicKey: Uint8Array, surroundings: Surroundings) {
    this.#mac1Key = hash(LABEL_MAC1, ownPublicKey);
    this.#cookieKey = hash(LABEL_COOKIE, ownPublicKey);
    this.#surroundings = surroundings;
  }

  hasRightMac1(datagram: Uint8Array): boolean {
    const { mac1, beforeMac1 } = macsOf(datagram);
    return areEqual(mac1, mac(this.#mac1Key, beforeMac1));
  }

  /** Whether the sender holds the cookie of its address. */
  hasRightMac2(datagram: Uint8Array, from: Endpoint): boolean {
    if (this.#secret === null || this.#isStale()) return false;
    const { mac2, beforeMac2 } = macsOf(datagram);
    return areEqual(
      mac2,
      mac(this.#cookieOf(from, this.#secret.bytes), beforeMac2),
    );
  }

  reply(
    datagram: Uint8Array,
    { sender, from }: { readonly sender: number; readonly from: Endpoint },
  ): Uint8Array {
    if (this.#secret === null || this.#isStale()) {
      const bytes = this.#surroundings.randomBytes(32);
      this.#secret = { bytes, since: this.#surroundings.now() };
    }
    const nonce = this.#surroundings.randomBytes(24);
    const encryptedCookie = xSeal(this.#cookieOf(from, this.#secret.bytes), {
      key: this.#cookieKey,
      nonce,
      ad: macsOf(datagram).mac1,
    });
    return writeCookieReply({ receiver: sender, nonce, encryptedCookie });
  }

  #isStale(): boolean {
    return this.#secret === null ||
      this.#surroundings.now() - this.#secret.since >= COOKIE_LIFETIME;
  }

  #cookieOf({ via, address, port }: Endpoint, secret: Uint8Array): Uint8Array {
    return mac(secret, encoder.encode(`${via} ${address} ${port}`));
  }
}
