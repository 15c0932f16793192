import type { PlatformSettings } from "../request/settings/platform.ts";
import { recordedFetch } from "./calls.ts";

/** The deadline of a call to PostgREST, Storage or Auth: just above the database's own 8 s. */
const CALL_DEADLINE_MILLISECONDS = 10_000;

/**
 * The deadline for moving a large object, which Storage may copy. After it, the move goes on
 * without its commit. Shorter than a commit's lease and a gateway's timeout.
 */
const MOVE_DEADLINE_MILLISECONDS = 40_000;

/** The credential of a call to PostgREST or Storage: the service's key, as supabase-js sends it. */
export function serviceHeaders({ serviceKey }: PlatformSettings): Record<string, string> {
  return { apikey: serviceKey, authorization: `Bearer ${serviceKey}` };
}

/** Calls of Storage and Auth that change nothing. */
const READING_CALLS: ReadonlySet<string> = new Set([
  "auth/jwks",
  "auth/user",
  "object/upload/sign",
  "object/sign",
  "object/info",
  "bucket",
]);

/** The verbs, after the prefix, of SQL functions that only read. A test checks their volatility. */
const READING_VERB = /^(?:check|count|describe|find|inspect|list|plan|read)_/;

/** Whether the call can safely be repeated. */
export function isRepeatable(name: string): boolean {
  return READING_VERB.test(name) || READING_CALLS.has(name);
}

/** Overloaded or unreachable for a moment. 544 is specific to Storage. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504, 544]);

const STORAGE_CALL =
  /^\/storage\/v1\/(object\/(?:upload\/sign|sign|move|info|authenticated)|object|bucket)(?:\/|$)/;

/**
 * `fetchWithDeadline` for a Storage client. The path names the call, without object path and query
 * string: a signed URL is a secret.
 */
export function fetchFromStorage(
  input: RequestInfo | URL,
  init: RequestInit = {},
): Promise<Response> {
  const { pathname } = new URL(input instanceof Request ? input.url : input);
  return fetchWithDeadline(STORAGE_CALL.exec(pathname)?.[1] ?? "other", input, init);
}

/** `fetch` for PostgREST, Storage and Auth: with a deadline, logged, retried once if repeatable. */
export async function fetchWithDeadline(
  name: string,
  input: RequestInfo | URL,
  init: RequestInit = {},
): Promise<Response> {
  const deadline = AbortSignal.timeout(
    name === "object/move" ? MOVE_DEADLINE_MILLISECONDS : CALL_DEADLINE_MILLISECONDS,
  );
  const signal = init.signal ? AbortSignal.any([init.signal, deadline]) : deadline;
  const attempt = () => recordedFetch(name, input, { ...init, signal });
  if (!isRepeatable(name)) return await attempt();
  try {
    const response = await attempt();
    if (!PASSING_STATUSES.has(response.status)) return response;
    await response.body?.cancel();
  } catch (error) {
    if (signal.aborted) throw error;
  }
  return await attempt();
}
