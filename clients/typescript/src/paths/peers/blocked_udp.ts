import type { Address } from "../stun/address.ts";

/** In milliseconds: how long a place is tried by UDP in a network that seems to block it. */
const TRY = 15_000;

/** Where somebody was heard, UDP is not blocked. WireGuard's sessions last so long. */
const HEARD = 180_000;

/**
 * Whether a place is still tried directly. In a network that blocks UDP, each place is tried once:
 * what lies in the same network may be reached nevertheless.
 */
export class BlockedUdp {
  readonly #isBlocked: () => boolean;
  readonly #now: () => number;
  /** Until when each place is tried. Empty in networks that do not block UDP. */
  readonly #tried = new Map<string, number>();

  constructor({ isBlocked, now }: {
    readonly isBlocked: () => boolean;
    readonly now: () => number;
  }) {
    this.#isBlocked = isBlocked;
    this.#now = now;
  }

  maySend({ address, port }: Address): boolean {
    if (!this.#isBlocked()) {
      this.#tried.clear();
      return true;
    }
    const place = `${address} ${port}`;
    const until = this.#tried.get(place) ?? this.#now() + TRY;
    this.#tried.set(place, until);
    return this.#now() < until;
  }

  heard({ address, port }: Address): void {
    const place = `${address} ${port}`;
    if (this.#tried.has(place)) this.#tried.set(place, this.#now() + HEARD);
  }
}
