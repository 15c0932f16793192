import { AsyncLocalStorage } from "node:async_hooks";
import { type NamedIds, namedIds } from "./named_ids.ts";

/** One call to PostgREST or Storage, as the log has it: what for, never with what. */
export interface UpstreamCall {
  /** The SQL function, or the Storage call, such as `object/move`. */
  readonly name: string;
  /** HTTP status; 0 where there was no answer. */
  readonly status: number;
  readonly duration_ms: number;
}

/** Who a caller is. A key has the same agent for ever. */
export interface Identity {
  readonly agentId: string;
  readonly keyId: string;
}

/** What becomes known of a request while it is served, for its log line and for counting. */
export class RequestRecord {
  readonly upstreamCalls: UpstreamCall[] = [];
  /** Null: not known, or without an agent key. */
  identity: Identity | null = null;
  /** What its operation names. */
  ids: NamedIds = {};
  /** Whether it told the caller nothing new, as most heartbeats and waits do. */
  isOrdinary = false;
  /** Whether it may have waited: then its duration says nothing. */
  hasWaited = false;
}

const recordOfRequest = new AsyncLocalStorage<RequestRecord>();

/** Runs `handle`, which handles one request. What is noted within it goes to `record`. */
export function recordInto<Result>(
  record: RequestRecord,
  handle: () => Promise<Result>,
): Promise<Result> {
  return recordOfRequest.run(record, handle);
}

/** Does nothing outside of a request; neither do the others. */
export function noteUpstreamCall(call: UpstreamCall): void {
  recordOfRequest.getStore()?.upstreamCalls.push(call);
}

/**
 * Notes who is calling, as agents.authenticate says it in a header of PostgREST's answer. It cannot
 * with a refusal.
 */
export function noteIdentity(headers: Headers): void {
  const [agentId, keyId] = headers.get("x-caller")?.split(" ") ?? [];
  const record = recordOfRequest.getStore();
  if (record && agentId && keyId) record.identity = { agentId, keyId };
}

/** Notes that a request told its caller nothing new. */
export function noteOrdinary({ hasWaited = false }: { readonly hasWaited?: boolean } = {}): void {
  const record = recordOfRequest.getStore();
  if (record) Object.assign(record, { isOrdinary: true, hasWaited });
}

/** Notes the ids that an operation's input or its answer names. */
export function noteIds(named: object): void {
  const record = recordOfRequest.getStore();
  if (record) record.ids = { ...record.ids, ...namedIds(named) };
}
