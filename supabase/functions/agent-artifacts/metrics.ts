import type { Platform } from "../_shared/operations/operation.ts";
import type { CallerArgument } from "../_shared/request/caller.ts";
import { type MetricFamily, samplesBy } from "../_shared/usage/exposition.ts";

/** What read_artifacts_metrics returns. Times are seconds since 1970, or null. */
interface Stored {
  readonly artifacts: Readonly<Record<string, number>>;
  readonly bytes: Readonly<Record<string, number>>;
  readonly surplus_bytes: number;
  readonly grants: number;
  readonly backlog: Readonly<Record<string, number>>;
  readonly backlog_since: number | null;
  readonly swept_at: number | null;
  readonly last_event_id: number | null;
  readonly oldest_event_at: number | null;
}

export async function readMetrics(
  { callDatabase }: Platform,
  caller: CallerArgument,
): Promise<MetricFamily[]> {
  const stored = await callDatabase<Stored>("read_artifacts_metrics", { caller });
  return [
    {
      name: "agent_artifacts",
      help: "Artifacts that agents hold.",
      type: "gauge",
      samples: samplesBy("state", stored.artifacts),
    },
    {
      name: "agent_artifacts_bytes",
      help: "Their registered bytes.",
      type: "gauge",
      samples: samplesBy("state", stored.bytes),
    },
    {
      name: "agent_artifacts_surplus_bytes",
      help: "What was uploaded beyond what was registered.",
      type: "gauge",
      samples: [{ value: stored.surplus_bytes }],
    },
    {
      name: "agent_artifacts_grants",
      help: "Grants on record: the live ones, and those that ended in the last 30 days.",
      type: "gauge",
      samples: [{ value: stored.grants }],
    },
    {
      name: "agent_artifacts_sweep_backlog",
      help: "What the sweep has still to do, counted up to 1000 of each kind.",
      type: "gauge",
      samples: samplesBy("kind", stored.backlog),
    },
    {
      name: "agent_artifacts_sweep_backlog_oldest_timestamp_seconds",
      help: "Since when the oldest of it waits. Absent: nothing waits.",
      type: "gauge",
      samples: [{ value: stored.backlog_since }],
    },
    {
      name: "agent_artifacts_sweep_last_run_timestamp_seconds",
      help: "When the sweep last began. Absent: it never ran.",
      type: "gauge",
      samples: [{ value: stored.swept_at }],
    },
    {
      name: "agent_events_written_total",
      help: "Events of both functions that were ever written, by their numbers, which have gaps.",
      type: "counter",
      samples: [{ value: stored.last_event_id ?? 0 }],
    },
    {
      name: "agent_events_oldest_timestamp_seconds",
      help: "When the oldest event on record happened.",
      type: "gauge",
      samples: [{ value: stored.oldest_event_at }],
    },
  ];
}
