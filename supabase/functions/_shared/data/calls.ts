import { noteUpstreamCall } from "../request/request_record.ts";

/** `fetch`, recorded as `name` for the request's log line, with the time until the headers. */
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
    noteUpstreamCall({ name, status, duration_ms: Math.round(performance.now() - startedAt) });
  }
}
