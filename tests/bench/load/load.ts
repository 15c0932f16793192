// @deno-types="./autocannon.d.ts"
import autocannon from "autocannon";
import { quantile } from "./timing.ts";

/** One POST to the gateway. */
export interface BenchRequest {
  /** Below `/functions/v1`, unless it begins with `/rest/`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

export interface LoadResult {
  readonly requests: number;
  /** In milliseconds, like `p95` and `elapsed`. */
  readonly p50: number;
  readonly p95: number;
  readonly elapsed: number;
  readonly perSecond: number;
  /** How many requests were refused once with 503, and then answered. */
  readonly repeated: number;
}

/** The status that asks the client to repeat the request. */
const UNAVAILABLE = 503;
/** How many percent of the requests may be refused once. The count is rounded up. */
const MOST_REFUSED_PERCENT = 1;

/** The answers to one pass over the requests. */
interface Pass {
  /** Durations of the requests that were answered with 200, in milliseconds. */
  readonly times: readonly number[];
  readonly elapsed: number;
  /** The indexes in `requests` of the requests that were refused with 503. */
  readonly refused: readonly number[];
  /** Whether every request was answered with 200 or 503. */
  readonly isComplete: boolean;
  /** A description for an error message. */
  readonly described: string;
}

/**
 * Sends every request once, with `clients` that each wait for an answer before they send the next
 * request. Repeats the few requests that are refused with 503, one at a time, as a client of the
 * service would. Throws if too many are refused, if one is refused twice, or if any other answer is
 * not 200.
 */
export async function load(
  origin: string,
  requests: readonly BenchRequest[],
  clients: number,
): Promise<LoadResult> {
  const first = await sendOnce(origin, requests, clients);
  const { refused } = first;
  const most = Math.ceil(requests.length * MOST_REFUSED_PERCENT / 100);
  if (!first.isComplete || refused.length > most) throw new Error(first.described);
  const passes = [first];
  if (refused.length > 0) {
    const again = await sendOnce(origin, refused.map((index) => requests[index]!), 1);
    if (!again.isComplete || again.refused.length > 0) throw new Error(again.described);
    passes.push(again);
  }
  const times = passes.flatMap((pass) => pass.times);
  const elapsed = passes.reduce((sum, pass) => sum + pass.elapsed, 0);
  return {
    requests: requests.length,
    p50: quantile(times, 0.5),
    p95: quantile(times, 0.95),
    elapsed,
    perSecond: requests.length / elapsed * 1000,
    repeated: refused.length,
  };
}

async function sendOnce(
  origin: string,
  requests: readonly BenchRequest[],
  clients: number,
): Promise<Pass> {
  const times: number[] = [];
  const refused: number[] = [];
  const failures = new Map<number, number>();
  let next = 0;
  const startedAt = performance.now();
  const run = autocannon({
    url: origin,
    connections: Math.min(clients, requests.length),
    amount: requests.length,
    timeout: 120,
    requests: [{
      method: "POST",
      setupRequest(request, context) {
        context.index = next++ % requests.length;
        const { path, headers, body } = requests[context.index]!;
        request.path = path.startsWith("/rest/") ? path : `/functions/v1${path}`;
        request.headers = { "content-type": "application/json", ...headers };
        request.body = JSON.stringify(body);
        return request;
      },
      onResponse(status, _body, { index }) {
        if (status === UNAVAILABLE) refused.push(index!);
      },
    }],
  });
  let lastAnswerAt = startedAt;
  run.on("response", (_client, status, _bytes, milliseconds) => {
    lastAnswerAt = performance.now();
    if (status === 200) times.push(milliseconds);
    else failures.set(status, (failures.get(status) ?? 0) + 1);
  });
  await run;
  return {
    times,
    elapsed: lastAnswerAt - startedAt,
    refused,
    isComplete: times.length + refused.length === requests.length,
    described: `${requests[0]!.path}: ${times.length} of ${requests.length} answered, refused: ${
      JSON.stringify(Object.fromEntries(failures))
    }`,
  };
}
