/** Every operation of the service as something to measure: fresh requests, and their floor. */
import type { BenchRequest } from "../load/load.ts";
import type { BenchStack } from "../stack/bench_stack.ts";
import { agentKeyOf, sha256, type Size } from "../fill/cast.ts";

/** A stack, and the size that its database was filled with. */
export interface FilledStack {
  readonly stack: BenchStack;
  readonly size: Size;
}

/** One call: the request to the service, and the parameters of its SQL function. */
export interface Call {
  /** Null means the operator. */
  readonly agent: string | null;
  readonly body: Readonly<Record<string, unknown>>;
  readonly parameters?: Readonly<Record<string, unknown>>;
}

/** The route of the bare function for the same call. */
export type Floor = "rpc" | "rpc-and-upload-url" | "rpc-and-download-url";

export interface BenchOperation {
  readonly name: string;
  readonly functionName: "agent-artifacts" | "agent-mesh";
  /** Default: the name, up to the first space. */
  readonly path?: string;
  /**
   * The SQL function behind the operation. Null: the operation calls several functions, or does
   * more than SQL, and so has no floor.
   */
  readonly floor: { readonly kind: Floor; readonly rpc: string } | null;
  /** Makes calls that can be sent once each, and prepares the rows that they need. */
  readonly calls: (filled: FilledStack, count: number) => Promise<Call[]>;
  /** The most calls of one run, for an operation whose calls need many rows. */
  readonly maxCalls?: number;
  /** True if the prepared rows serve the next call only, so that calls are made one at a time. */
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

/** The same calls to the bare function. */
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

/** Numbers that no other call of this run uses. */
export function freshNumbers(count: number): number[] {
  return Array.from({ length: count }, () => ++serial);
}

export function inAnHour(): string {
  return new Date(Date.now() + 3_600_000).toISOString();
}
