import type { AllSeries, Values } from "./promtool.ts";

export const JOBS = ["agent-artifacts", "agent-mesh"] as const;

/** The log of events while a session has held it back for more than a minute. */
export const HELD =
  'agent_events_held_seconds{job="agent-artifacts",pid="4711",application_name="import",state="idle in transaction"}';

/** Series of ordinary work, with an occasional refusal, failed call or lagging peer. */
export function ordinarySeries(minutes: number): AllSeries {
  const every = (value: (minute: number) => number | null): Values =>
    Array.from({ length: minutes + 1 }, (_, minute) => value(minute));
  return Object.assign(
    {
      'agent_artifacts_sweep_last_run_timestamp_seconds{job="agent-artifacts"}': every((minute) =>
        60 * (minute - minute % 2)
      ),
      'agent_artifacts_sweep_backlog_oldest_timestamp_seconds{job="agent-artifacts"}': every(
        (minute) => minute % 60 < 10 ? Math.max(0, 60 * (minute - 90)) : null,
      ),
      'agent_mesh_peers_behind{job="agent-mesh"}': every((minute) => minute % 60 === 7 ? 3 : 0),
      'agent_events_held_seconds{job="agent-artifacts"}': every((minute) =>
        minute % 90 === 0 ? 45 : 0
      ),
      [HELD]: every(() => null),
      'agent_keys_expiring{job="agent-artifacts"}': every(() => 0),
      'agent_database_bytes{job="agent-artifacts"}': every((minute) => 2e9 + 1e5 * minute),
    },
    ...JOBS.map((job) => ({
      [`up{job="${job}"}`]: every((minute) => minute % 300 === 299 ? 0 : 1),
      [`agent_recorded_requests_total{job="${job}"}`]: every((minute) => 500_000 + 40 * minute),
      [`agent_recorded_errors_total{job="${job}",code="unauthenticated"}`]: every((minute) =>
        478 + Math.floor(minute / 30)
      ),
      [`agent_recorded_errors_total{job="${job}",code="artifact_not_found"}`]: every((minute) =>
        1_000 + Math.floor(minute / 2)
      ),
      [`agent_recorded_upstream_calls_total{job="${job}"}`]: every((minute) =>
        700_000 + 60 * minute
      ),
      [`agent_recorded_upstream_failures_total{job="${job}"}`]: every((minute) =>
        300 + Math.floor(minute / 45)
      ),
    })),
  );
}

/**
 * Two isolates that answer scrapes in turns, so that the counters jump up and down. One of them has
 * many old refusals and failures.
 */
export function isolatesInTurns(minutes: number): AllSeries {
  const inTurns = (one: number, other: number): Values =>
    Array.from({ length: minutes + 1 }, (_, minute) => minute % 2 === 0 ? one : other);
  return Object.assign(
    {},
    ...JOBS.map((job) => ({
      [`agent_errors_total{job="${job}",code="unauthenticated"}`]: inTurns(478, 0),
      [`agent_upstream_call_failures_total{job="${job}",call="begin_commit"}`]: inTurns(200, 0),
      [`agent_upstream_call_duration_seconds_count{job="${job}",call="begin_commit"}`]: inTurns(
        1_000,
        20,
      ),
      [`process_start_time_seconds{job="${job}"}`]: inTurns(1_000, 60_000),
    })),
  );
}
