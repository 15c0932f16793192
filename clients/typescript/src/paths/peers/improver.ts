import type { Endpoint, PeerStats, Surroundings, Tunnel } from "../../wireguard/tunnel.ts";
import { isSameEndpoint } from "../../wireguard/surroundings.ts";
import { DIRECT, type Ranks } from "./ranks.ts";
import { isUp } from "./reports.ts";

/** In milliseconds. Besides what the tunnel does by itself: an initiation every 5 s. */
const WAITS_WHILE_DOWN = [1500, 3000];

/** Between tries of better ways. A try costs a datagram for each way. */
const WAITS_WHILE_UP = [4, 8, 16, 30, 60, 120, 300, 600].map((seconds) => seconds * 1000);

/**
 * By so much the side with the greater public key comes later: of two handshakes at one moment,
 * each ends the session before, with the packets that are under way in it.
 */
const SECOND_TURN = 2000;

/**
 * After so many milliseconds of silence, in spite of packets that were sent, the way in use is in
 * doubt: the first try is that way alone, for the peer may just have nothing to say. Then all ways
 * are tried. The tunnel itself begins with that after 15 s.
 */
const SILENCES = [4000, 6000, 9000, 12_000];

interface State {
  candidates: readonly Endpoint[];
  /** What the attempts depend on. When it changes, they start again. */
  situation: string;
  tries: number;
  nextAt: number;
  /** When the network changed: what was heard before says nothing about any way. */
  inDoubtSince: number;
  /** Since the peer was heard. */
  triesInSilence: number;
}

type TriedTunnel = Pick<Tunnel, "publicKey" | "stats" | "tryEndpoints">;

/** Tries other ways to peers: better ones, or all when the one in use is lost. */
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
      /** What the endpoints of this side's relays are called, the newest first. */
      readonly relays: () => readonly string[];
      readonly isUdpBlocked: () => boolean;
    },
  ) {
    this.#surroundings = surroundings;
    this.#ranks = ranks;
    this.#relays = relays;
    this.#isUdpBlocked = isUdpBlocked;
  }

  /** All peers, with all ways to each. */
  setCandidates(candidates: ReadonlyMap<string, readonly Endpoint[]>): void {
    for (const publicKey of this.#states.keys()) {
      if (!candidates.has(publicKey)) this.#states.delete(publicKey);
    }
    for (const [publicKey, endpoints] of candidates) {
      const known = this.#states.get(publicKey);
      if (known !== undefined && nameOf(known.candidates) === nameOf(endpoints)) continue;
      this.#states.set(publicKey, {
        candidates: endpoints,
        situation: "",
        tries: 0,
        nextAt: 0,
        inDoubtSince: known?.inDoubtSince ?? -Infinity,
        triesInSilence: known?.triesInSilence ?? 0,
      });
    }
  }

  /** Looks whether something is due. */
  run(tunnel: TriedTunnel): void {
    for (const stats of tunnel.stats()) {
      const state = this.#states.get(stats.publicKey);
      if (state === undefined || this.#tryInSilence(tunnel, { stats, state })) continue;
      const ways = this.#waysToTry(stats, state);
      if (ways.length > 0) this.#try(tunnel, { stats, state, ways });
    }
  }

  /** In another network, the ways in use may be lost, and others may be better. */
  restart(tunnel: TriedTunnel): void {
    for (const state of this.#states.values()) {
      state.situation = "";
      state.inDoubtSince = this.#surroundings.now();
    }
    this.run(tunnel);
  }

  /** Whether it has tried something. */
  #tryInSilence(
    tunnel: TriedTunnel,
    { stats, state }: { readonly stats: PeerStats; readonly state: State },
  ): boolean {
    const { endpoint, publicKey, unansweredFor } = stats;
    if (unansweredFor === null) state.triesInSilence = 0;
    if (unansweredFor === null || endpoint === null || !isUp(stats, this.#surroundings)) {
      return false;
    }
    const turn = tunnel.publicKey < publicKey ? 0 : SECOND_TURN / 2;
    const due = (SILENCES[state.triesInSilence] ?? Infinity) + turn;
    if (unansweredFor < due) return false;
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
    return candidates.filter((way) => {
      if (way.via === DIRECT && this.#isUdpBlocked()) return false;
      return this.#ranks.rankOf(way) < rank || (isLeaving && way.via === newest);
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
      // A peer that is down has just been sent an initiation, for it is new, or by its keepalive.
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

  /** Whether the peer answered on its way, in this network. */
  #isInUse(stats: PeerStats, { inDoubtSince }: State): boolean {
    return isUp(stats, this.#surroundings) && stats.handshakeAt! > inDoubtSince;
  }

  /**
   * The first slot of `wait` milliseconds, when `least` have passed. Both sides have the same
   * slots if their wall clocks agree: a router lets a datagram in where one has gone out just
   * before.
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

function nameOf(endpoints: readonly Endpoint[]): string {
  return endpoints.map(({ address, port, via }) => `${address} ${port} ${via}`).join();
}
