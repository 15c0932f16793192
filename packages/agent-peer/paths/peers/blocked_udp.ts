import type { Address } from "../stun/address.ts";

/** In milliseconds: how long an endpoint is tried by UDP in a network that seems to block UDP. */
const TRY = 15_000;

/**
 * How long UDP counts as not blocked for an endpoint that was heard: as long as a WireGuard
 * session.
 */
const HEARD = 180_000;

/**
 * Without a relay, there is no other path. So a silent endpoint is tried again from time to time,
 * each time for long enough for one initiation: the tunnel sends one every 5 s.
 */
const [AGAIN_EVERY, AGAIN] = [120_000, 6000];

/**
 * Whether an endpoint is still tried directly. In a network that blocks UDP, each endpoint is tried
 * once, because hosts in the same network may be reachable nevertheless. It is tried once more if
 * a peer has it again.
 */
export class BlockedUdp {
  readonly #isBlocked: () => boolean;
  readonly #hasRelay: () => boolean;
  readonly #now: () => number;
  /** Until when each endpoint is tried. Empty in networks that do not block UDP. */
  readonly #tried = new Map<string, number>();
  #candidates = new Set<string>();

  constructor({ isBlocked, hasRelay, now }: {
    readonly isBlocked: () => boolean;
    readonly hasRelay: () => boolean;
    readonly now: () => number;
  }) {
    this.#isBlocked = isBlocked;
    this.#hasRelay = hasRelay;
    this.#now = now;
  }

  /** Takes the endpoints of all peers. */
  setCandidates(endpoints: readonly Address[]): void {
    const candidates = new Set(endpoints.map(nameOf));
    for (const place of this.#candidates) {
      if (!candidates.has(place)) this.#tried.delete(place);
    }
    this.#candidates = candidates;
  }

  maySend(endpoint: Address): boolean {
    if (!this.#isBlocked()) {
      this.#tried.clear();
      return true;
    }
    const place = nameOf(endpoint);
    const now = this.#now();
    let until = this.#tried.get(place) ?? now + TRY;
    if (now >= until + AGAIN_EVERY && !this.#hasRelay()) until = now + AGAIN;
    this.#tried.set(place, until);
    return now < until;
  }

  heard(endpoint: Address): void {
    const place = nameOf(endpoint);
    if (this.#tried.has(place)) this.#tried.set(place, this.#now() + HEARD);
  }
}

function nameOf({ address, port }: Address): string {
  return `${address} ${port}`;
}
