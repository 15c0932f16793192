/**
 * A scenario is a request of one operation, arranged so that it succeeds. Faults are tried on it.
 */
import type { Answer, Sender } from "../../conformance/client.ts";

export type FunctionName = "agent-artifacts" | "agent-mesh";

export interface Asked {
  /** Default: POST. */
  readonly method?: "GET" | "HEAD" | "POST";
  /** Replaces the scenario's path, if that has a parameter. */
  readonly path?: string;
  readonly as: Sender;
  /** Sent as JSON; URLSearchParams are sent as a form. */
  readonly body?: object;
}

/** A request that has not been sent yet. */
export interface Arranged {
  readonly request: Asked;
  /** Ends the lease of a dead commit, if the request can meet one. */
  readonly endLease?: () => Promise<void>;
  /** Asserts the final state after the request was answered, however often it was sent. */
  readonly holds?: () => Promise<void>;
}

export interface Scenario {
  readonly functionName: FunctionName;
  /** The path after the function's name, as the app declares it. */
  readonly path: string;
  /** Distinguishes scenarios with the same path. */
  readonly situation?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * `200`, or `<status> <code>`: the final answers that the contract allows, for a request that is
   * sent once or several times.
   */
  readonly settled: readonly string[];
  /** Extracts the service's answer, if another protocol wraps it. */
  readonly unwrap?: (answer: Answer<unknown>) => Answer<unknown>;
  arrange(): Promise<Arranged>;
}

/** For example `POST /commit, the bytes are wrong`. */
export function titleOf({ path, situation }: Scenario): string {
  return situation === undefined ? path : `${path}, ${situation}`;
}
