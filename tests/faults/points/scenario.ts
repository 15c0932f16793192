/** What is tried with faults: a request of each operation, arranged so that it does its work. */
import type { Answer, Sender } from "../../conformance/client.ts";

export type FunctionName = "agent-artifacts" | "agent-mesh";

export interface Asked {
  /** Default: POST. */
  readonly method?: "GET" | "HEAD" | "POST";
  /** Instead of the scenario's, where that has a parameter. */
  readonly path?: string;
  readonly as: Sender;
  /** Sent as JSON; URLSearchParams as a form. */
  readonly body?: object;
}

/** A request that nobody has sent yet. */
export interface Arranged {
  readonly request: Asked;
  /** Lets the lease of a dead commit run out, where the request can meet one. */
  readonly endLease?: () => Promise<void>;
  /** Asserts what holds once the request was answered, however often it was sent. */
  readonly holds?: () => Promise<void>;
}

export interface Scenario {
  readonly functionName: FunctionName;
  /** Below the function's name, as the app has it. */
  readonly path: string;
  /** What is special about it: several scenarios of one path need it. */
  readonly situation?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** `200`, or `<status> <code>`: what the contract answers to the request, sent once or again. */
  readonly settled: readonly string[];
  /** What an answer says, where it is wrapped in another protocol's. */
  readonly unwrap?: (answer: Answer<unknown>) => Answer<unknown>;
  arrange(): Promise<Arranged>;
}

/** Such as `POST /commit, the bytes are wrong`. */
export function titleOf({ path, situation }: Scenario): string {
  return situation === undefined ? path : `${path}, ${situation}`;
}
