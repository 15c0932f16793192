/** The recorded history of a run, and the types of the rules that check it. */
import type { JsonObject } from "../conformance/client.ts";

export interface Entry {
  /**
   * The path with the function's name, such as /agent-artifacts/commit; DOWNLOAD; DELIVERY; or
   * `rpc/` and the name of a function for the operator.
   */
  readonly operation: string;
  /** The agent for which the request was sent; of a DELIVERY: what its receiver is called. */
  readonly agent: string;
  readonly request: JsonObject;
  /** Milliseconds since the run began. */
  readonly start: number;
  /** When the answer arrived, or when the client gave up. */
  readonly end: number;
  /** 0 means no answer. */
  readonly status: number;
  /** Null if the answer was not JSON. */
  readonly answer: JsonObject | null;
}

/** A GET of a download URL. Its answer is `{sha256}` of the received bytes. */
export const DOWNLOAD = "download";

/**
 * A request to the receiver of a webhook, which is the last part of its URL's path. Its status is
 * what the receiver answered. Its request is `{id, timestamp, signature, body, always_refused}`.
 */
export const DELIVERY = "delivery";

/** A contradiction between a history and the contract. */
export interface Violation {
  /** The rule that is violated. */
  readonly rule: string;
  /** The entries that contradict each other, in the order of their starts. */
  readonly entries: readonly Entry[];
}

/** Finds every violation of one rule. */
export type Rule = (history: readonly Entry[]) => Violation[];

export function didHappen({ status }: Entry): boolean {
  return status === 200;
}

/** Whether a request has changed something, may have changed it, or may still change it. */
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

/** Groups the entries by `keyOf`, in the order of the history. */
export function groupBy<Key>(
  entries: readonly Entry[],
  keyOf: (entry: Entry) => Key,
): Map<Key, Entry[]> {
  return Map.groupBy(entries, keyOf);
}

/** The operator's requests that removed an agent, or may have. */
export function removalsOf(history: readonly Entry[], agentId: unknown): Entry[] {
  return history.filter((entry) =>
    isRemoval(entry) && mayHappen(entry) && entry.request["agent_id"] === agentId
  );
}

/** One request ends a part of what the agent has, if that is very much. */
export function isRemoval({ operation }: Entry): boolean {
  return operation === "rpc/remove_agent";
}

/** Whether nothing is left that a further request of the same kind would end. */
export function isWhole({ answer }: Entry): boolean {
  return answer?.["remaining"] === false;
}
