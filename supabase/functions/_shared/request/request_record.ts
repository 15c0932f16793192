import { AsyncLocalStorage } from "node:async_hooks";
import { type NamedIds, namedIds } from "../identity/named_ids.ts";

/** One call to PostgREST or Storage, as the log shows it. Arguments are never logged. */
export interface UpstreamCall {
  /** The SQL function, or the Storage call, such as `object/move`. */
  readonly name: string;
  /** HTTP status; 0 if there was no answer. */
  readonly status: number;
  readonly duration_ms: number;
}

/** Who a caller is. An agent key never changes its agent. */
export interface Identity {
  readonly agentId: string;
  readonly keyId: string;
  /** The enrolment that the key is from. Null: the operator made the key, or it is not known. */
  readonly enrolmentId: string | null;
}

/** What is learned about a request while it is served, for its log line and for counting. */
export class RequestRecord {
  readonly upstreamCalls: UpstreamCall[] = [];
  /** Null: not known, or the request has no agent key. */
  identity: Identity | null = null;
  /** The ids in its operation's input and answer. */
  ids: NamedIds = {};
  /** Whether the answer told nothing new, like those of most heartbeats and waits. */
  isOrdinary = false;
  /** Whether it may have waited for news: a long duration is then no sign of slowness. */
  hasWaited = false;
}

const recordOfRequest = new AsyncLocalStorage<RequestRecord>();

/** Runs `handle` for one request. Within it, the `note…` functions write to `record`. */
export function recordInto<Result>(
  record: RequestRecord,
  handle: () => Promise<Result>,
): Promise<Result> {
  return recordOfRequest.run(record, handle);
}

/** Outside of a request, the `note…` functions do nothing. */
export function noteUpstreamCall(call: UpstreamCall): void {
  recordOfRequest.getStore()?.upstreamCalls.push(call);
}

/**
 * Notes who is calling: agents.authenticate puts that into a header of PostgREST's answer. A
 * refusal cannot have this header.
 */
export function noteIdentity(headers: Headers): void {
  const [agentId, keyId, cameBy] = headers.get("x-caller")?.split(" ") ?? [];
  const record = recordOfRequest.getStore();
  if (!record || !agentId || !keyId) return;
  record.identity = {
    agentId,
    keyId,
    enrolmentId: cameBy?.startsWith("enr_") ? cameBy : null,
  };
}

/** Who the database said is calling. Null: it has not said it yet, or there is no agent key. */
export function notedIdentity(): Identity | null {
  return recordOfRequest.getStore()?.identity ?? null;
}

/** Notes that a request told its caller nothing new. */
export function noteOrdinary({ hasWaited = false }: { readonly hasWaited?: boolean } = {}): void {
  const record = recordOfRequest.getStore();
  if (record) Object.assign(record, { isOrdinary: true, hasWaited });
}

/** Notes the ids that an operation's input or its answer contains. */
export function noteIds(named: object): void {
  const record = recordOfRequest.getStore();
  if (record) record.ids = { ...record.ids, ...namedIds(named) };
}
