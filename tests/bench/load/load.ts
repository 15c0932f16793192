// @deno-types="./autocannon.d.ts"
import autocannon from "autocannon";
import { quantile } from "./timing.ts";

/** One POST to the gateway. */
export interface BenchRequest {
  /** Below `/functions/v1` where it does not begin with `/rest/`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

export interface LoadResult {
  readonly requests: number;
  /** In milliseconds, as the two below. */
  readonly p50: number;
  readonly p95: number;
  readonly elapsed: number;
  readonly perSecond: number;
}

/**
 * Sends every request once, by `clients` that each wait for an answer before they send the next.
 * Throws when one is not answered with 200.
 */
export async function load(
  origin: string,
  requests: readonly BenchRequest[],
  clients: number,
): Promise<LoadResult> {
  const times: number[] = [];
  const refusals = new Map<number, number>();
  let next = 0;
  const startedAt = performance.now();
  const run = autocannon({
    url: origin,
    connections: Math.min(clients, requests.length),
    amount: requests.length,
    timeout: 120,
    requests: [{
      method: "POST",
      setupRequest(request) {
        const { path, headers, body } = requests[next++ % requests.length]!;
        request.path = path.startsWith("/rest/") ? path : `/functions/v1${path}`;
        request.headers = { "content-type": "application/json", ...headers };
        request.body = JSON.stringify(body);
        return request;
      },
    }],
  });
  let lastAnswerAt = startedAt;
  run.on("response", (_client, status, _bytes, milliseconds) => {
    times.push(milliseconds);
    lastAnswerAt = performance.now();
    if (status !== 200) refusals.set(status, (refusals.get(status) ?? 0) + 1);
  });
  await run;
  if (refusals.size > 0 || times.length !== requests.length) {
    throw new Error(
      `${requests[0]!.path}: ${times.length} of ${requests.length} answers, of them ${
        JSON.stringify(Object.fromEntries(refusals))
      } refusals`,
    );
  }
  const elapsed = lastAnswerAt - startedAt;
  return {
    requests: requests.length,
    p50: quantile(times, 0.5),
    p95: quantile(times, 0.95),
    elapsed,
    perSecond: requests.length / elapsed * 1000,
  };
}
