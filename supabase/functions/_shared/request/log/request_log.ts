import { ServiceError } from "../errors.ts";
import type { Caller } from "../../identity/callers/caller.ts";
import type { RequestRecord } from "../request_record.ts";

/** What is known of a request when it ends. Nothing here is a credential or an artifact's key. */
export interface EndedRequest extends Readonly<RequestRecord> {
  readonly requestId: string;
  readonly functionName: string;
  readonly method: string;
  /** The operation's path; null if the request matched none. No other path is logged. */
  readonly path: string | null;
  /** The paths of the operations that an MCP client's tools called. */
  readonly operations: readonly string[];
  readonly caller: Caller | null;
  readonly status: number;
  readonly durationMilliseconds: number;
  readonly error: unknown;
}

/** Called with each request that has ended. */
export type LogRequest = (request: EndedRequest) => void;

/** A request that takes this long is always logged. */
const SLOW_MILLISECONDS = 1000;

/**
 * As logRequest, but skips requests that told nothing new, succeeded and were quick. Most of what
 * agents send is like that: too much for a platform's log.
 */
export function logUnlessOrdinary(request: EndedRequest): void {
  const { isOrdinary, hasWaited, status, operations, durationMilliseconds } = request;
  const isSlow = !hasWaited && durationMilliseconds >= SLOW_MILLISECONDS ||
    request.upstreamCalls.some(({ duration_ms }) => duration_ms >= SLOW_MILLISECONDS);
  // `isOrdinary` is about one operation; an MCP client's message may call several.
  if (!isOrdinary || isSlow || status >= 400 || operations.length > 0) logRequest(request);
}

/** Writes one JSON line for a request that has ended. */
export function logRequest(request: EndedRequest): void {
  const { ids } = request;
  const line = JSON.stringify({
    time: new Date().toISOString(),
    request_id: request.requestId,
    function: request.functionName,
    method: request.method,
    path: request.path,
    ...(request.operations.length > 0 && { operations: request.operations }),
    caller: request.caller?.kind ?? "none",
    ...callerFields(request),
    ...(Object.keys(ids).length > 0 && { ids }),
    status: request.status,
    duration_ms: Math.round(request.durationMilliseconds),
    upstream: request.upstreamCalls,
    ...errorFields(request.error),
  });
  if (request.status >= 500) console.error(line);
  else console.log(line);
}

function callerFields({ caller, identity }: EndedRequest): Record<string, string> {
  if (caller?.kind === "user") return { agent_id: caller.agentId, user_id: caller.userId };
  return identity === null ? {} : { agent_id: identity.agentId, key_id: identity.keyId };
}

/** The error code of a refused request; null: it was not refused. */
export function errorCodeOf(error: unknown): string | null {
  if (error === undefined) return null;
  return error instanceof ServiceError ? error.code : "internal";
}

function errorFields(error: unknown): Record<string, unknown> {
  if (error === undefined) return {};
  const code = { error: errorCodeOf(error) };
  const cause = error instanceof ServiceError ? error.cause : error;
  return cause === undefined ? code : { ...code, cause: describe(cause) };
}

function describe(cause: unknown): string {
  return cause instanceof Error ? `${cause.name}: ${cause.message}` : typeof cause;
}
