import type { Endpoint, PeerStats, Surroundings, Tunnel } from "../../wireguard/tunnel.ts";
import { isSameEndpoint } from "../../wireguard/surroundings.ts";
import { DIRECT, type Ranks } from "./ranks.ts";
import { isUp } from "./reports.ts";

/**
 * The pauses between tries while a peer is down, in milliseconds. The tunnel itself also sends an
 * initiation every 5 s.
 */
const WAITS_WHILE_DOWN = [1500, 3000];

/** The pauses between tries of better paths. A try costs one datagram per path. */
const WAITS_WHILE_UP = [4, 8, 16, 30, 60, 120, 300, 600].map((seconds) => seconds * 1000);

/**
 * How often a peer's new endpoints are tried when it is no longer at any of its endpoints. Behind
 * some routers it never was, and cannot be reached there.
 */
const MOST_TRIES_OF_NEWS = 3;

/**
 * How many milliseconds later the side with the greater public key tries; half of that for a silent
 * peer. If both sides started handshakes at the same moment, each would end the session before, and
 * lose its packets in flight.
 */
const SECOND_TURN = 2000;

/**
 * If the peer is silent for this number of milliseconds although packets were sent, the path in use
 * is in doubt. The first try uses only that path, because the peer may just have nothing to say.
 * Later tries use all paths. The tunnel itself starts to try after 15 s.
 */
const SILENCES = [4000, 6000, 9000, 12_000];

/**
 * Two persistent keepalives, and their time on the way. A peer that is silent for longer has lost
 * the session, for example because its program has started again, or is unreachable. One that sends
 * no keepalives answers the first try.
 */
const KEEPALIVES = 52_000;

interface State {
  candidates: readonly Endpoint[];
  /** The candidates that were not there before, and were not tried since. */
  news: readonly Endpoint[];
  /** What the attempts depend on. When it changes, they start again. */
  situation: string;
  tries: number;
  nextAt: number;
  /** When the network changed. Earlier answers say nothing about any path now. */
  inDoubtSince: number;
  /** The tries since the peer was last heard. */
  triesInSilence: number;
}

type TriedTunnel = Pick<Tunnel, "publicKey" | "stats" | "tryEndpoints">;

/** Tries other paths to peers: better ones, or all if the one in use is lost. */
export class Improver {
  readonly #surroundings: Surroundings;
  readonly #ranks: Ranks;
  readonly #relays: () => readonly string[];
  readonly #isUdpBlocked: () => boolean;
  readonly #states = new Map<string, State>();

  constructor(
    { surroundings, ranks, relays, isUdpBlocked }: {
      readonly surroundings: Surroundings;
      readonly ranks: Ranks;
      /** The `via` of this side's relays, the newest first. */
      readonly relays: () => readonly string[];
      readonly isUdpBlocked: () => boolean;
    },
  ) {
    this.#surroundings = surroundings;
    this.#ranks = ranks;
    this.#relays = relays;
    this.#isUdpBlocked = isUdpBlocked;
  }

  /** Takes all peers, with all candidate paths to each. */
  setCandidates(candidates: ReadonlyMap<string, readonly Endpoint[]>): void {
    for (const publicKey of this.#states.keys()) {
      if (!candidates.has(publicKey)) this.#states.delete(publicKey);
    }
    for (const [publicKey, endpoints] of candidates) {
      const known = this.#states.get(publicKey);
      if (known !== undefined && nameOf(known.candidates) === nameOf(endpoints)) continue;
      this.#states.set(publicKey, {
        candidates: endpoints,
        news: known === undefined ? [] : newsOf(endpoints, known),
        situation: "",
        tries: 0,
        nextAt: 0,
        inDoubtSince: known?.inDoubtSince ?? -Infinity,
        triesInSilence: known?.triesInSilence ?? 0,
      });
    }
  }

  /** Tries what is due now. */
  run(tunnel: TriedTunnel): void {
    for (const stats of tunnel.stats()) {
      const state = this.#states.get(stats.publicKey);
      if (state === undefined || this.#tryInSilence(tunnel, { stats, state })) continue;
      const ways = this.#waysToTry(stats, state);
      if (ways.length > 0) this.#try(tunnel, { stats, state, ways });
    }
  }

  /** Call it when the network has changed: paths in use may be lost, and others may be better. */
  restart(tunnel: TriedTunnel): void {
    for (const state of this.#states.values()) {
      state.situation = "";
      state.inDoubtSince = this.#surroundings.now();
    }
    this.run(tunnel);
  }

  /** Tries the paths of a silent peer, if that is due. Returns whether it has tried something. */
  #tryInSilence(
    tunnel: TriedTunnel,
    { stats, state }: { readonly stats: PeerStats; readonly state: State },
  ): boolean {
    const { endpoint, publicKey, unansweredFor, silentFor } = stats;
    const doubt = Math.max(unansweredFor ?? 0, (silentFor ?? 0) - KEEPALIVES);
    if (doubt < SILENCES[0]!) state.triesInSilence = 0;
    if (endpoint === null || !isUp(stats, this.#surroundings)) return false;
    const turn = tunnel.publicKey < publicKey ? 0 : SECOND_TURN / 2;
    const due = (SILENCES[state.triesInSilence] ?? Infinity) + turn;
    if (doubt < due) return false;
    const isFirst = state.triesInSilence === 0;
    const others = state.candidates.filter((way) => !isSameEndpoint(way, endpoint));
    tunnel.tryEndpoints(publicKey, isFirst ? [endpoint] : [endpoint, ...others]);
    state.triesInSilence += 1;
    return true;
  }

  #waysToTry(stats: PeerStats, state: State): readonly Endpoint[] {
    const { candidates } = state;
    const { endpoint } = stats;
    if (!this.#isInUse(stats, state) || endpoint === null || this.#isLost(endpoint)) {
      return candidates;
    }
    const rank = this.#ranks.rankOf(endpoint);
    const [newest] = this.#relays();
    const isLeaving = endpoint.via !== DIRECT && endpoint.via !== newest;
    // The peer has moved, and may not know where this side is: if nobody sends, neither notices.
    const hasMoved = state.tries < MOST_TRIES_OF_NEWS &&
      !candidates.some((way) => isSameEndpoint(way, endpoint));
    return candidates.filter((way) => {
      if (way.via === DIRECT && this.#isUdpBlocked()) return false;
      const isBetter = this.#ranks.rankOf(way) < rank || (isLeaving && way.via === newest);
      const isNew = hasMoved && state.news.includes(way) && this.#ranks.rankOf(way) === rank;
      return isBetter || isNew;
    });
  }

  #try(
    tunnel: TriedTunnel,
    { stats, state, ways }: {
      readonly stats: PeerStats;
      readonly state: State;
      readonly ways: readonly Endpoint[];
    },
  ): void {
    const now = this.#surroundings.now();
    const isFirst = tunnel.publicKey < stats.publicKey;
    const turn = isFirst ? 0 : SECOND_TURN;
    const isDown = !isUp(stats, this.#surroundings);
    const isUrgent = !isDown && (isFirst || !this.#isInUse(stats, state));
    const situation = isDown ? "down" : nameOf([stats.endpoint!]);
    if (situation !== state.situation) {
      state.situation = situation;
      state.tries = 0;
      // The tunnel has just sent the peer an initiation: because the peer is new, or for its
      // keepalive.
      if (isDown) state.nextAt = now + WAITS_WHILE_DOWN[0]!;
      else state.nextAt = isUrgent ? now : this.#nextSlot(turn / 2, WAITS_WHILE_UP[0]!, turn);
    }
    if (now < state.nextAt) return;
    tunnel.tryEndpoints(stats.publicKey, ways);
    state.tries += 1;
    if (isDown) state.nextAt = now + (WAITS_WHILE_DOWN[state.tries] ?? Infinity);
    else {
      const wait = WAITS_WHILE_UP[Math.min(state.tries, WAITS_WHILE_UP.length) - 1]!;
      state.nextAt = this.#nextSlot(wait / 2, wait, turn);
    }
  }

  /** Whether the peer has answered on its path since the network changed. */
  #isInUse(stats: PeerStats, { inDoubtSince }: State): boolean {
    return isUp(stats, this.#surroundings) && stats.handshakeAt! > inDoubtSince;
  }

  /**
   * When the next slot of `wait` milliseconds begins, after at least `least` milliseconds. If their
   * wall clocks agree, both sides have the same slots. They send at the same time, because a router
   * lets a datagram in only shortly after one has gone out to its sender.
   */
  #nextSlot(least: number, wait: number, turn: number): number {
    const at = this.#surroundings.unixTime() + least;
    const slot = Math.ceil((at - turn) / wait) * wait + turn;
    return this.#surroundings.now() + least + slot - at;
  }

  #isLost({ via }: Endpoint): boolean {
    return via !== DIRECT && !this.#relays().includes(via);
  }
}

function newsOf(endpoints: readonly Endpoint[], { candidates, news, tries }: State): Endpoint[] {
  const known = tries === 0
    ? candidates.filter((way) => !news.some((other) => isSameEndpoint(way, other)))
    : candidates;
  return endpoints.filter((way) => !known.some((other) => isSameEndpoint(way, other)));
}

function nameOf(endpoints: readonly Endpoint[]): string {
  return endpoints.map(({ address, port, via }) => `${address} ${port} ${via}`).join();
}
