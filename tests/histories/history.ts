/** What a run is recorded as, and judged by. */
import type { JsonObject } from "../conformance/client.ts";

/** One request and its answer. */
export interface Entry {
  /** The path with the function's name, such as /agent-artifacts/commit; or DOWNLOAD. */
  readonly operation: string;
  /** The agent in whose name it was sent. */
  readonly agent: string;
  readonly request: JsonObject;
  /** Milliseconds since the run began. */
  readonly start: number;
  /** When the answer was there, or was given up. */
  readonly end: number;
  /** 0: no answer came. */
  readonly status: number;
  /** Null where no JSON came. */
  readonly answer: JsonObject | null;
}

/** GET of a download URL; its answer is `{sha256}`, of the bytes that came. */
export const DOWNLOAD = "download";

/** Where a history contradicts the contract. */
export interface Violation {
  /** What does not hold. */
  readonly rule: string;
  /** The entries that contradict each other, in the order of their starts. */
  readonly entries: readonly Entry[];
}

/** Finds every violation of one rule. */
export type Rule = (history: readonly Entry[]) => Violation[];

export function didHappen({ status }: Entry): boolean {
  return status === 200;
}

/** Whether a request has changed something, or may have, or may yet. */
export function mayHappen({ status }: Entry): boolean {
  return status === 200 || status === 0 || status >= 500;
}

/** The latest instant at which a request can have had its effect. */
export function effectEnd(entry: Entry): number {
  return didHappen(entry) ? entry.end : Infinity;
}

export function entriesOf(history: readonly Entry[], operation: string): Entry[] {
  return history.filter((entry) => entry.operation === operation);
}

/** Each entry by what `keyOf` says of it, in the order of the history. */
export function groupBy<Key>(
  entries: readonly Entry[],
  keyOf: (entry: Entry) => Key,
): Map<Key, Entry[]> {
  return Map.groupBy(entries, keyOf);
}
