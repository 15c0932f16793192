import { AsyncLocalStorage } from "node:async_hooks";

/** One call to PostgREST or Storage, as the log has it: what for, never with what. */
export interface UpstreamCall {
  /** The SQL function, or the Storage call, such as `object/move`. */
  readonly name: string;
  /** HTTP status; 0 where there was no answer. */
  readonly status: number;
  readonly duration_ms: number;
}

const callsOfRequest = new AsyncLocalStorage<UpstreamCall[]>();

/** Runs `handle`, which handles one request. Adds every `recordedFetch` within it to `calls`. */
export function recordUpstreamCalls<Result>(
  calls: UpstreamCall[],
  handle: () => Promise<Result>,
): Promise<Result> {
  return callsOfRequest.run(calls, handle);
}

/**
 * `fetch`, noted under `name` for the log of the request that it serves, with the time until the
 * headers.
 */
export async function recordedFetch(
  name: string,
  input: RequestInfo | URL,
  init: RequestInit = {},
): Promise<Response> {
  const startedAt = performance.now();
  let status = 0;
  try {
    const response = await fetch(input, init);
    status = response.status;
    return response;
  } finally {
    callsOfRequest.getStore()?.push({
      name,
      status,
      duration_ms: Math.round(performance.now() - startedAt),
    });
  }
}
