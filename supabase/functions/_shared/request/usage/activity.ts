import type { ErrorCode } from "../errors.ts";
import type { EndedRequest } from "../log/request_log.ts";
import type { MetricFamily } from "./exposition.ts";

/** Counts in the form that the SQL function add_activity takes and activity_of returns. */
export interface ActivityCounts {
  readonly requests: number;
  /** By error code. */
  readonly errors: Readonly<Record<string, number>>;
  readonly upstream_calls: number;
  /** Calls to PostgREST and Storage with no answer, or with status 500 or above. */
  readonly upstream_failures: number;
}

/** Requests that monitor the service, and requests for unknown paths, are not counted. */
const UNCOUNTED: ReadonlySet<string | null> = new Set([
  null,
  "/metrics",
  "/health",
  "/openapi.json",
]);

/** What this process has counted and not written yet. */
export class Activity {
  #requests = 0;
  readonly #errors: Record<string, number> = {};
  #calls = 0;
  #failures = 0;

  get isEmpty(): boolean {
    return this.#requests === 0;
  }

  get counts(): ActivityCounts {
    return {
      requests: this.#requests,
      errors: { ...this.#errors },
      upstream_calls: this.#calls,
      upstream_failures: this.#failures,
    };
  }

  /** Counts a request. False: requests of this kind are not counted. */
  count({ path, upstreamCalls }: EndedRequest, errorCode: string | null): boolean {
    if (UNCOUNTED.has(path)) return false;
    this.#requests += 1;
    if (errorCode !== null) this.#addError(errorCode, 1);
    this.#calls += upstreamCalls.length;
    this.#failures += upstreamCalls.filter(({ status }) => status === 0 || status >= 500).length;
    return true;
  }

  add({ counts }: Activity): void {
    this.#requests += counts.requests;
    this.#calls += counts.upstream_calls;
    this.#failures += counts.upstream_failures;
    for (const [code, count] of Object.entries(counts.errors)) this.#addError(code, count);
  }

  #addError(code: string, count: number): void {
    this.#errors[code] = (this.#errors[code] ?? 0) + count;
  }
}

/**
 * These codes are listed even if their count is 0. Otherwise a counter's first value would be above
 * 0, and Prometheus would see no increase.
 */
const ALWAYS_THERE: readonly ErrorCode[] = [
  "unauthenticated",
  "forbidden",
  "artifact_not_found",
  "grant_not_found",
  "peer_not_found",
  "rate_limited",
  "internal",
  "upstream_unavailable",
  "misconfigured",
];

/** What all processes of a function have written, as counters that never fall. */
export function activityFamilies(stored: ActivityCounts): MetricFamily[] {
  const zeros = Object.fromEntries(ALWAYS_THERE.map((code) => [code, 0]));
  const counter = (
    name: string,
    help: string,
    samples: MetricFamily["samples"],
  ): MetricFamily => ({ name, help, type: "counter", samples });
  return [
    counter(
      "agent_recorded_requests_total",
      "Requests that all processes of the function have answered and recorded.",
      [{ value: stored.requests }],
    ),
    counter(
      "agent_recorded_errors_total",
      "Recorded requests that were refused or failed, by error code.",
      Object.entries({ ...zeros, ...stored.errors }).map(([code, value]) => ({
        labels: { code },
        value,
      })),
    ),
    counter(
      "agent_recorded_upstream_calls_total",
      "Calls to PostgREST and Storage for recorded requests.",
      [{ value: stored.upstream_calls }],
    ),
    counter(
      "agent_recorded_upstream_failures_total",
      "Recorded calls to PostgREST and Storage with no answer, or with status 500 or above.",
      [{ value: stored.upstream_failures }],
    ),
  ];
}
