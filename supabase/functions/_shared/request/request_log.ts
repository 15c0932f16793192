import { ServiceError } from "../errors.ts";
import type { UpstreamCall } from "../upstream/calls.ts";

/** What is known of a request when it ends. Nothing here comes from a body or a credential. */
export interface RequestLogEntry {
  readonly requestId: string;
  readonly functionName: string;
  readonly method: string;
  /** The operation's path; null where the request matched none. No other path is logged. */
  readonly path: string | null;
  /** The paths of the operations that an MCP client's tools called. */
  readonly operations: readonly string[];
  readonly callerKind: "agent" | "user" | "operator" | "none";
  readonly status: number;
  readonly durationMilliseconds: number;
  readonly upstreamCalls: readonly UpstreamCall[];
  readonly error: unknown;
}

/** Writes one JSON line for a request that has ended. */
export function logRequest(entry: RequestLogEntry): void {
  const line = JSON.stringify({
    time: new Date().toISOString(),
    request_id: entry.requestId,
    function: entry.functionName,
    method: entry.method,
    path: entry.path,
    ...(entry.operations.length > 0 && { operations: entry.operations }),
    caller: entry.callerKind,
    status: entry.status,
    duration_ms: Math.round(entry.durationMilliseconds),
    upstream: entry.upstreamCalls,
    ...errorFields(entry.error),
  });
  if (entry.status >= 500) console.error(line);
  else console.log(line);
}

function errorFields(error: unknown): Record<string, unknown> {
  if (error === undefined) return {};
  if (!(error instanceof ServiceError)) return { error: "internal", cause: describe(error) };
  if (error.cause === undefined) return { error: error.code };
  return { error: error.code, cause: describe(error.cause) };
}

function describe(cause: unknown): string {
  return cause instanceof Error ? `${cause.name}: ${cause.message}` : typeof cause;
}
