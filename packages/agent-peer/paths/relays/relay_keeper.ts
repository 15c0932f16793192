import type { Surroundings } from "../../wireguard/surroundings.ts";
import type { Allocation } from "../turn/allocation.ts";
import { type Attempt, attemptsOf, firstOf, nameOf, type Opened } from "./attempts.ts";
import type { RelayAnswer, Transport } from "./ice_servers.ts";

/**
 * In milliseconds: the pauses between failed attempts, and until `iceServers` is asked again if no
 * relay is set.
 */
const FIRST_PAUSE = 1000;
const LONGEST_PAUSE = 60_000;
const WITHOUT_RELAY = 600_000;

/** How long before its credentials expire an allocation is replaced by a new one. */
const BEFORE_EXPIRY = 600_000;

/** How long the old allocation stays open: others have to learn the new address. */
const OVERLAP = 180_000;

/** Credentials that expire sooner than this are not used for another attempt. */
const FRESH = 60_000;

export interface RelayKeeperOptions {
  readonly surroundings: Surroundings;
  readonly iceServers: () => Promise<RelayAnswer | null>;
  readonly proxyFor: (host: string, port: number) => URL | null;
  readonly open: (
    attempt: Attempt,
    options: { readonly via: string; readonly onEnd: () => void },
  ) => Promise<Allocation>;
  /** If UDP is blocked, the attempt that worked last is made first; otherwise the best one. */
  readonly isUdpBlocked: () => boolean;
  /** Called when there is another allocation, or none any more. */
  readonly onChange: () => void;
  /** Called with the answer of `iceServers`. */
  readonly onServers: (answer: RelayAnswer | null) => void;
}

/**
 * Keeps an allocation on a relay. Replaces the allocation when it ends, when its credentials are
 * about to expire, and when the relay or the network changes.
 */
export class RelayKeeper {
  readonly #options: RelayKeeperOptions;
  /** The newest first. */
  #allocations: Allocation[] = [];
  #permitted: readonly string[] = [];
  #answer: RelayAnswer | null = null;
  /** The name of the attempt that worked in this network. */
  #preferred: string | null = null;
  #transport: Transport | null = null;
  #pause = FIRST_PAUSE;
  #opened = 0;
  /** Grows to discard the result of attempts that are under way. */
  #round = 0;
  #stopTimer = () => {};
  readonly #overlaps = new Set<() => void>();
  #isClosed = false;

  constructor(options: RelayKeeperOptions) {
    this.#options = options;
  }

  /** The newest first. */
  get allocations(): readonly Allocation[] {
    return this.#allocations;
  }

  /** Whether the newest allocation is reached by UDP. */
  get worksByUdp(): boolean {
    return this.#allocations.length > 0 && this.#transport === "udp";
  }

  find(via: string): Allocation | undefined {
    return this.#allocations.find((allocation) => allocation.via === via);
  }

  /** Lets these IP addresses send to the relayed address, now and after a renewal. */
  permitOnly(addresses: readonly string[]): void {
    this.#permitted = addresses;
    for (const allocation of this.#allocations) void allocation.permitOnly(addresses);
  }

  /** Opens an allocation. Resolves after the first attempt, whether it succeeded or not. */
  start(): Promise<void> {
    return this.#run(++this.#round);
  }

  /**
   * Call it when the network has changed: makes all attempts again. Until one works, the current
   * relay is used.
   */
  restart(): Promise<void> {
    this.#preferred = null;
    this.#pause = FIRST_PAUSE;
    return this.start();
  }

  close(): void {
    this.#isClosed = true;
    this.#stopTimer();
    for (const stop of this.#overlaps) stop();
    for (const allocation of this.#allocations) allocation.close();
    this.#allocations = [];
  }

  async #run(round: number): Promise<void> {
    this.#stopTimer();
    const opened = await this.#open(round).then((allocation) => ({ allocation }), () => null);
    if (this.#isClosed || round !== this.#round) return opened?.allocation?.close();
    if (opened === null) {
      this.#again(round, this.#pause);
      this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
    } else if (opened.allocation === null) this.#again(round, WITHOUT_RELAY);
    else {
      this.#pause = FIRST_PAUSE;
      this.#replaceBy(opened.allocation);
      this.#again(round, this.#untilRenewal(), { isRenewal: true });
    }
  }

  #again(round: number, wait: number, { isRenewal = false } = {}): void {
    this.#stopTimer = this.#options.surroundings.after(wait, () => {
      if (isRenewal) this.#answer = null;
      void this.#run(round);
    });
  }

  /** Null if there is no relay. */
  async #open(round: number): Promise<Allocation | null> {
    const { proxyFor, surroundings } = this.#options;
    const answer = await this.#freshAnswer();
    if (answer === null) return null;
    const attempts = attemptsOf(answer.ice_servers, proxyFor);
    const isPreferred = (attempt: Attempt) =>
      this.#options.isUdpBlocked() && nameOf(attempt) === this.#preferred;
    attempts.sort((one, other) => Number(isPreferred(other)) - Number(isPreferred(one)));
    try {
      const first = await firstOf(attempts, {
        surroundings,
        open: (attempt) => this.#openBy(attempt),
        onLate: (late, { result, attempt }) => {
          const isBetter = attempts.indexOf(late.attempt) < attempts.indexOf(attempt);
          if (isBetter && round === this.#round && result === this.#allocations[0]) {
            this.#note(late);
            this.#replaceBy(late.result);
          } else late.result.close();
        },
      });
      this.#note(first);
      return first.result;
    } catch (error) {
      // The credentials may be the reason: get new ones.
      this.#answer = null;
      throw error;
    }
  }

  #note({ attempt }: Opened<Allocation>): void {
    this.#preferred = nameOf(attempt);
    this.#transport = attempt.transport;
  }

  #openBy(attempt: Attempt): Promise<Allocation> {
    const via = `relay-${++this.#opened}`;
    return this.#options.open(attempt, { via, onEnd: () => this.#lose(via) });
  }

  async #freshAnswer(): Promise<RelayAnswer | null> {
    if (this.#answer === null || this.#untilExpiry() < FRESH) {
      this.#answer = await this.#options.iceServers();
      this.#options.onServers(this.#answer);
    }
    return this.#answer;
  }

  #untilExpiry(): number {
    const at = Date.parse(this.#answer?.expires_at ?? "");
    // If the time cannot be parsed, assume the shortest useful one.
    return Number.isNaN(at) ? 2 * FRESH : at - this.#options.surroundings.unixTime();
  }

  #untilRenewal(): number {
    const left = this.#untilExpiry();
    return Math.max(left - BEFORE_EXPIRY, left / 2, FRESH / 2);
  }

  #replaceBy(allocation: Allocation): void {
    const old = this.#allocations;
    this.#allocations = [allocation, ...old];
    void allocation.permitOnly(this.#permitted);
    if (old.length > 0) {
      const stop = this.#options.surroundings.after(OVERLAP, () => {
        this.#overlaps.delete(stop);
        for (const one of old) this.#drop(one);
      });
      this.#overlaps.add(stop);
    }
    this.#options.onChange();
  }

  #drop(allocation: Allocation): void {
    if (!this.#allocations.includes(allocation)) return;
    this.#allocations = this.#allocations.filter((one) => one !== allocation);
    allocation.close();
    if (!this.#isClosed) this.#options.onChange();
  }

  /** Call it when an allocation has ended by itself. */
  #lose(via: string): void {
    const lost = this.find(via);
    if (lost === undefined || this.#isClosed) return;
    const wasNewest = lost === this.#allocations[0];
    this.#allocations = this.#allocations.filter((one) => one !== lost);
    this.#options.onChange();
    if (wasNewest) void this.start();
  }
}
