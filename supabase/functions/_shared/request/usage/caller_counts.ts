import { Activity, type ActivityCounts } from "./activity.ts";
import type { ErrorCode } from "../errors.ts";
import type { EndedRequest } from "../log/request_log.ts";
import { recordInto, RequestRecord } from "../request_record.ts";

/** What identifies a caller: an agent key, or the agent if the request had no agent key. */
export type CountedCaller = { readonly key_hash: string } | { readonly agent_id: string };

/** One caller's requests, as the SQL function record_usage takes them. */
export type UsageEntry = CountedCaller & {
  /** Seconds since the caller's last request. */
  readonly seconds_ago: number;
  /** All requests, including refused ones. */
  readonly requests: number;
  /** By error code. */
  readonly refusals: Readonly<Record<string, number>>;
  /** Whether this process does not know yet which agent has this agent key. */
  readonly is_unknown: boolean;
};

interface Counts {
  readonly caller: CountedCaller;
  requests: number;
  refusals: Record<string, number>;
  lastAt: number;
  isKnown: boolean;
  /** Whether these counts have already failed to be written once. */
  wasPutBack: boolean;
}

/** The codes that hint at probing: the caller asked for something that it may not have. */
const REFUSALS: ReadonlySet<string> = new Set<ErrorCode>([
  "unauthenticated",
  "superseded",
  "forbidden",
  "artifact_not_found",
  "grant_not_found",
  "peer_not_found",
  "rate_limited",
]);

/** Stores counts; `activity` is null if nothing was counted. */
type WriteCounts = (
  entries: readonly UsageEntry[],
  activity: ActivityCounts | null,
) => Promise<void>;

/** With more callers than this, the counts are written at once. */
const MAX_CALLERS = 2000;

/**
 * How many agent keys that this process has not verified are counted between two writes. They may
 * belong to nobody, and anyone can make up any number.
 */
const MAX_UNKNOWN = 500;

/**
 * Counts requests and refusals by caller. A timer runs while there is something to write. A
 * caller's counts that could not be written are tried once more, with the next write.
 */
export class CallerCounts {
  readonly #write: WriteCounts;
  readonly #writeMilliseconds: number;
  #counts = new Map<string, Counts>();
  #activity = new Activity();
  #unknown = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #hasFailed = false;

  constructor({ write, writeSeconds }: {
    readonly write: WriteCounts;
    readonly writeSeconds: number;
  }) {
    this.#write = write;
    this.#writeMilliseconds = writeSeconds * 1000;
  }

  /** Writes all counts; null: there are none. */
  finish(): Promise<void> | null {
    return this.#counts.size > 0 || !this.#activity.isEmpty ? this.writeNow() : null;
  }

  /** Counts a request of any caller, for the totals of all processes. */
  countActivity(request: EndedRequest, errorCode: string | null): void {
    if (this.#activity.count(request, errorCode)) this.#startTimer();
  }

  count(
    caller: CountedCaller,
    { errorCode, isKnown }: { readonly errorCode: string | null; readonly isKnown: boolean },
  ): void {
    const refusals = errorCode !== null && REFUSALS.has(errorCode) ? { [errorCode]: 1 } : {};
    const lastAt = performance.now();
    this.#add({ caller, requests: 1, refusals, lastAt, isKnown, wasPutBack: false });
    if (this.#counts.size > MAX_CALLERS) void this.writeNow();
  }

  /** Writes all counts. Resolves when that is done, or has failed. */
  async writeNow(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const counts = this.#counts;
    const activity = this.#activity;
    if (counts.size === 0 && activity.isEmpty) return;
    this.#counts = new Map();
    this.#activity = new Activity();
    this.#unknown = 0;
    const entries = Array.from(counts.values(), entryOf);
    try {
      // A new record: the call must not be in the log line of the request that started the timer.
      await recordInto(
        new RequestRecord(),
        () => this.#write(entries, activity.isEmpty ? null : activity.counts),
      );
      this.#hasFailed = false;
    } catch (error) {
      this.#logFailure(error);
      this.#activity.add(activity);
      if (!this.#activity.isEmpty) this.#startTimer();
      for (const entry of counts.values()) {
        if (!entry.wasPutBack) this.#add({ ...entry, wasPutBack: true });
      }
    }
  }

  #add(added: Counts): void {
    const { caller } = added;
    const place = "key_hash" in caller ? caller.key_hash : `agent ${caller.agent_id}`;
    const present = this.#counts.get(place);
    if (present === undefined) {
      if (!added.isKnown && ++this.#unknown > MAX_UNKNOWN) return;
      this.#counts.set(place, added);
      this.#startTimer();
      return;
    }
    present.requests += added.requests;
    for (const [code, count] of Object.entries(added.refusals)) {
      present.refusals[code] = (present.refusals[code] ?? 0) + count;
    }
    present.lastAt = Math.max(present.lastAt, added.lastAt);
    present.isKnown ||= added.isKnown;
    present.wasPutBack ||= added.wasPutBack;
  }

  #startTimer(): void {
    this.#timer ??= setTimeout(() => void this.writeNow(), this.#writeMilliseconds);
  }

  /** Logs only the first of several failures in a row. */
  #logFailure(error: unknown): void {
    if (!this.#hasFailed) {
      const cause = error instanceof Error ? `${error.name}: ${error.message}` : typeof error;
      const line = { time: new Date().toISOString(), error: "usage_not_written", cause };
      console.error(JSON.stringify(line));
    }
    this.#hasFailed = true;
  }
}

function entryOf(counts: Counts): UsageEntry {
  return {
    ...counts.caller,
    seconds_ago: (performance.now() - counts.lastAt) / 1000,
    requests: counts.requests,
    refusals: counts.refusals,
    is_unknown: !counts.isKnown,
  };
}
