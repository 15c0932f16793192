/**
 * Every operation of the service as something to measure: requests, each fresh, and their floor.
 */
import type { BenchRequest } from "../load/load.ts";
import type { BenchStack } from "../stack/bench_stack.ts";
import { agentKeyOf, sha256, type Size } from "../fill/cast.ts";

/** A stack and what its database was filled with. */
export interface FilledStack {
  readonly stack: BenchStack;
  readonly size: Size;
}

/** One call: what the service is asked, and what its SQL function is given for it. */
export interface Call {
  /** Null: the operator. */
  readonly agent: string | null;
  readonly body: Readonly<Record<string, unknown>>;
  readonly parameters?: Readonly<Record<string, unknown>>;
}

/** What the bare function does for the same call. */
export type Floor = "rpc" | "rpc-and-upload-url" | "rpc-and-download-url";

export interface BenchOperation {
  readonly name: string;
  readonly functionName: "agent-artifacts" | "agent-mesh";
  /** Default: the name, up to a space. */
  readonly path?: string;
  /** The SQL function behind it; null: it calls several, or more than SQL, and has no floor. */
  readonly floor: { readonly kind: Floor; readonly rpc: string } | null;
  /** Makes calls that can be sent once each, and puts into the database what they need. */
  readonly calls: (filled: FilledStack, count: number) => Promise<Call[]>;
  /** The most calls that one run may have, where they need much. */
  readonly maxCalls?: number;
  /** Whether what one call needs is there for the next one only: calls are made one by one. */
  readonly oneByOne?: boolean;
}

export function requestsOf(
  { stack }: FilledStack,
  operation: BenchOperation,
  calls: readonly Call[],
): BenchRequest[] {
  const below = operation.path ?? operation.name.split(" ")[0]!;
  const path = below.startsWith("/rest/") ? below : `/${operation.functionName}${below}`;
  return calls.map(({ agent, body }) => ({
    path,
    body,
    headers: agent === null
      ? { apikey: stack.secretKey }
      : { authorization: `Bearer ${agentKeyOf(agent)}` },
  }));
}

/** The same calls of the bare function. */
export function floorRequestsOf(operation: BenchOperation, calls: readonly Call[]): BenchRequest[] {
  const { kind, rpc } = operation.floor!;
  return calls.map(({ agent, parameters }) => ({
    path: `/bare/${kind}/${rpc}`,
    headers: {},
    body: { caller: callerOf(agent), ...parameters },
  }));
}

function callerOf(agent: string | null) {
  return agent === null
    ? { kind: "operator", request_id: crypto.randomUUID() }
    : { kind: "agent", key_hash: sha256(agentKeyOf(agent)), request_id: crypto.randomUUID() };
}

let serial = 0;

/** Numbers that no other call of this run has. */
export function freshNumbers(count: number): number[] {
  return Array.from({ length: count }, () => ++serial);
}

export function inAnHour(): string {
  return new Date(Date.now() + 3_600_000).toISOString();
}
