import type { Flow, Refusal } from "./flow.ts";

/** How long the same refusals are counted before they are told, in milliseconds. */
const PERIOD_MS = 60_000;
/** How many kinds of refusals of one peer are told apart in this time. */
export const MOST_KINDS = 32;
/** The longest name of a host, in characters: programs choose what they ask for. */
const NAME_LENGTH = 253;

/**
 * Refused connections. The first of a kind is told at once. How many follow within a minute is told
 * at its end, as one flow. A peer that tries many ports has 32 kinds, and one for all others: so
 * whatever a peer does, a minute has a bounded number of flows.
 */
export class Refusals {
  readonly #tell: (flow: Flow) => void;
  /** By kind. Null: the first was told, and no other one has come. */
  #kinds = new Map<string, Flow | null>();
  /** How many kinds each peer has. */
  #counts = new Map<string, number>();
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(tell: (flow: Flow) => void) {
    this.#tell = tell;
  }

  /** What was counted, and is not told yet. */
  waiting(): Flow[] {
    return [...this.#kinds.values()].filter((flow) => flow !== null);
  }

  add(refusal: Refusal): void {
    this.#timer ??= setTimeout(() => this.#endPeriod(), PERIOD_MS);
    const exact = flowOf(refusal);
    const owner = exact.agentId ?? "";
    const count = this.#counts.get(owner) ?? 0;
    const isTooMany = count >= MOST_KINDS && !this.#kinds.has(kindOf(exact));
    const flow = isTooMany
      ? { ...exact, port: null, name: exact.agentId === null ? null : exact.name }
      : exact;
    const kind = kindOf(flow);
    const before = this.#kinds.get(kind);
    if (before === undefined) {
      this.#counts.set(owner, count + 1);
      this.#kinds.set(kind, null);
      this.#tell(flow);
    } else if (before === null) this.#kinds.set(kind, flow);
    else this.#kinds.set(kind, { ...before, endedAt: flow.endedAt, count: before.count + 1 });
  }

  close(): void {
    this.#endPeriod();
  }

  #endPeriod(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const flows = this.waiting();
    this.#kinds = new Map();
    this.#counts = new Map();
    for (const flow of flows) this.#tell(flow);
  }
}

function flowOf({ proto, direction, peer, port, reason }: Refusal): Flow {
  const now = new Date().toISOString();
  return {
    proto,
    direction,
    agentId: peer.agentId,
    name: peer.name?.slice(0, NAME_LENGTH) ?? null,
    port,
    startedAt: now,
    endedAt: now,
    receivedBytes: 0,
    sentBytes: 0,
    end: "refused",
    reason,
    count: 1,
  };
}

function kindOf({ proto, direction, agentId, name, port, reason }: Flow): string {
  return JSON.stringify([proto, direction, agentId, name, port, reason]);
}
