import type { PlatformSettings } from "../settings/platform.ts";
import { recordedFetch } from "./calls.ts";

/** The longest that a call to PostgREST or Storage may take: just above the database's own 8 s. */
const CALL_DEADLINE_MILLISECONDS = 10_000;

/**
 * For moving a large object, which Storage may copy. What is still under way then goes on without
 * the commit that began it. Shorter than the lease of a commit, and than a gateway's patience.
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

/** The verbs of SQL functions that change nothing. A test compares them with the volatility. */
const READING_VERB = /^(?:check|count|describe|find|inspect|list|plan|read)_/;

/** Whether a second call does no harm. */
export function isRepeatable(name: string): boolean {
  return READING_VERB.test(name) || READING_CALLS.has(name);
}

/** Overloaded, or out of reach for a moment. 544 is Storage's own. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504, 544]);

const STORAGE_CALL =
  /^\/storage\/v1\/(object\/(?:upload\/sign|sign|move|info|authenticated)|object|bucket)(?:\/|$)/;

/**
 * `fetchWithDeadline` for a Storage client, by the name that the path gives. Object paths and query
 * strings stay out of it: a signed URL is a secret.
 */
export function fetchFromStorage(
  input: RequestInfo | URL,
  init: RequestInit = {},
): Promise<Response> {
  const { pathname } = new URL(input instanceof Request ? input.url : input);
  return fetchWithDeadline(STORAGE_CALL.exec(pathname)?.[1] ?? "other", input, init);
}

/** `fetch` for PostgREST, Storage and Auth: every call has a deadline, and is noted for the log. */
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
