/** With more handshakes per second than this, only senders that hold a cookie are answered. */
const FREE_PER_SECOND = 50;

/** The limit per address for senders that hold a cookie. */
const PER_ADDRESS_PER_SECOND = 20;
const ADDRESS_BURST = 5;
const MOST_ADDRESSES = 4096;

interface Bucket {
  tokens: number;
  at: number;
}

/** Decides when handshakes cost too much: one takes about a millisecond of this process. */
export class Load {
  #second = 0;
  #count = 0;
  #busyUntil = -Infinity;
  readonly #buckets = new Map<string, Bucket>();

  /** Counts one handshake message, genuine or not. Returns whether the load is high. */
  isHigh(now: number): boolean {
    const second = Math.floor(now / 1000);
    if (second !== this.#second) [this.#second, this.#count] = [second, 0];
    this.#count += 1;
    if (this.#count > FREE_PER_SECOND) this.#busyUntil = now + 1000;
    return now < this.#busyUntil;
  }

  /** Whether an address that proved itself by a cookie may have one more handshake. */
  admits(address: string, now: number): boolean {
    const bucket = this.#buckets.get(address) ?? this.#addBucket(address, now);
    if (bucket === null) return false;
    const gained = (now - bucket.at) / 1000 * PER_ADDRESS_PER_SECOND;
    bucket.tokens = Math.min(ADDRESS_BURST, bucket.tokens + gained);
    bucket.at = now;
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }

  #addBucket(address: string, now: number): Bucket | null {
    if (this.#buckets.size >= MOST_ADDRESSES) {
      for (const [key, { at }] of this.#buckets) {
        if (now - at >= 1000) this.#buckets.delete(key);
      }
      if (this.#buckets.size >= MOST_ADDRESSES) return null;
    }
    const bucket = { tokens: ADDRESS_BURST, at: now };
    this.#buckets.set(address, bucket);
    return bucket;
  }
}
