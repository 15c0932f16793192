import type { EndedRequest } from "../log/request_log.ts";
import { gauge, type MetricFamily } from "./exposition.ts";
import { Histogram } from "./histogram.ts";

/** What this process has answered since it started. */
export class ProcessCounts {
  readonly #startedAt = (Date.now() - performance.now()) / 1000;
  /** By path and status. */
  readonly #requests = new Map<string, { path: string; status: number; count: number }>();
  readonly #errors = new Map<string, number>();
  readonly #upstream = new Map<string, { histogram: Histogram; failures: number }>();

  count({ path, status, upstreamCalls }: EndedRequest, errorCode: string | null): void {
    // All unknown paths count as one, because anyone can make up any number of them.
    const place = `${status} ${path ?? ""}`;
    const requests = this.#requests.get(place) ?? { path: path ?? "", status, count: 0 };
    requests.count += 1;
    this.#requests.set(place, requests);
    if (errorCode !== null) this.#errors.set(errorCode, (this.#errors.get(errorCode) ?? 0) + 1);
    for (const { name, status, duration_ms } of upstreamCalls) {
      const calls = this.#upstream.get(name) ?? { histogram: new Histogram(), failures: 0 };
      calls.histogram.observe(duration_ms / 1000);
      if (status === 0 || status >= 500) calls.failures += 1;
      this.#upstream.set(name, calls);
    }
  }

  families(): MetricFamily[] {
    const upstream = [...this.#upstream];
    return [
      gauge(
        "process_start_time_seconds",
        "When this process started, in seconds since 1970.",
        this.#startedAt,
      ),
      {
        name: "agent_requests_total",
        help: "Requests that this process has answered. Without a path: it matched none.",
        type: "counter",
        samples: Array.from(this.#requests.values(), ({ path, status, count }) => ({
          labels: { path, status: String(status) },
          value: count,
        })),
      },
      {
        name: "agent_errors_total",
        help: "Requests that this process has refused, or failed to answer, by error code.",
        type: "counter",
        samples: Array.from(this.#errors, ([code, value]) => ({ labels: { code }, value })),
      },
      {
        name: "agent_upstream_call_duration_seconds",
        help: "Calls to PostgREST and Storage, until the headers of their answers.",
        type: "histogram",
        samples: upstream.flatMap(([call, { histogram }]) => histogram.samples({ call })),
      },
      {
        name: "agent_upstream_call_failures_total",
        help: "Calls to PostgREST and Storage with no answer, or with status 500 or above.",
        type: "counter",
        samples: upstream.map(([call, { failures }]) => ({ labels: { call }, value: failures })),
      },
    ];
  }
}
