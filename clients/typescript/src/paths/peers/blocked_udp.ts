import type { Address } from "../stun/address.ts";

/** In milliseconds: how long an endpoint is tried by UDP in a network that seems to block UDP. */
const TRY = 15_000;

/**
 * How long UDP counts as not blocked for an endpoint that was heard: as long as a WireGuard
 * session.
 */
const HEARD = 180_000;

/**
 * Whether an endpoint is still tried directly. In a network that blocks UDP, each endpoint is tried
 * once, because hosts in the same network may be reachable nevertheless.
 */
export class BlockedUdp {
  readonly #isBlocked: () => boolean;
  readonly #now: () => number;
  /** Until when each endpoint is tried. Empty in networks that do not block UDP. */
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
