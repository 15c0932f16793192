import type { Platform } from "../_shared/operations/operation.ts";
import type { CallerArgument } from "../_shared/identity/callers/caller.ts";
import { type ActivityCounts, activityFamilies } from "../_shared/request/usage/activity.ts";
import {
  gauge,
  type MetricFamily,
  type Sample,
  samplesBy,
} from "../_shared/request/usage/exposition.ts";

/** What read_artifacts_metrics returns. Times are seconds since 1970, or null. */
interface Stored {
  readonly artifacts: Readonly<Record<string, number>>;
  readonly bytes: Readonly<Record<string, number>>;
  readonly surplus_bytes: number;
  readonly grants: number;
  /** Missing in an older schema. */
  readonly parked_tasks?: number;
  readonly backlog: Readonly<Record<string, number>>;
  readonly backlog_since: number | null;
  readonly swept_at: number | null;
  readonly activity: ActivityCounts;
  readonly keys_expiring: number;
  readonly database_bytes: number;
  /** Why committed events are in no feed yet; null: all are. Missing in an older schema. */
  readonly held_log?: HeldLog | null;
  /** Missing in an older schema. */
  readonly webhooks?: WebhookBacklog;
  readonly last_event_id: number | null;
  readonly oldest_event_at: number | null;
}

interface WebhookBacklog {
  readonly waiting: number;
  readonly parked: number;
  readonly waits_since: number | null;
}

interface HeldLog {
  readonly seconds: number;
  readonly writers: readonly {
    readonly pid: number | null;
    readonly prepared: string | null;
    readonly application_name: string | null;
    readonly state: string | null;
  }[];
}

/** From then on, the metric names the session. Every busy database holds the log for less. */
const HELD_SECONDS = 60;

export async function readMetrics(
  { callDatabase }: Platform,
  caller: CallerArgument,
): Promise<MetricFamily[]> {
  const stored = await callDatabase<Stored>("read_artifacts_metrics", { caller });
  return [
    gauge("agent_artifacts", "Artifacts that agents hold.", samplesBy("state", stored.artifacts)),
    gauge(
      "agent_artifacts_bytes",
      "Registered bytes of the artifacts that agents hold.",
      samplesBy("state", stored.bytes),
    ),
    gauge(
      "agent_artifacts_surplus_bytes",
      "Bytes uploaded beyond the registered sizes.",
      stored.surplus_bytes,
    ),
    gauge(
      "agent_artifacts_grants",
      "Grants on record: the live ones, and those that ended in the last 30 days.",
      stored.grants,
    ),
    gauge(
      "agent_artifacts_parked_tasks",
      "Tasks that failed too often, or for good, and wait for their givers, counted up to 1000.",
      stored.parked_tasks ?? null,
    ),
    gauge(
      "agent_artifacts_sweep_backlog",
      "What is left for the sweep, counted up to 1000 of each kind.",
      samplesBy("kind", stored.backlog),
    ),
    gauge(
      "agent_artifacts_sweep_backlog_oldest_timestamp_seconds",
      "When the oldest item in the sweep backlog became due. Absent: the backlog is empty.",
      stored.backlog_since,
    ),
    gauge(
      "agent_artifacts_sweep_last_run_timestamp_seconds",
      "When a sweep last finished. Absent: no sweep has finished yet.",
      stored.swept_at,
    ),
    {
      name: "agent_events_written_total",
      help: "Events of both functions that were ever written, by their numbers, which have gaps.",
      type: "counter",
      samples: [{ value: stored.last_event_id ?? 0 }],
    },
    gauge(
      "agent_events_oldest_timestamp_seconds",
      "When the oldest event on record happened.",
      stored.oldest_event_at,
    ),
    gauge(
      "agent_events_held_seconds",
      "For how long events have waited to be shown in feeds, because an older transaction is open.",
      heldSamples(stored.held_log ?? null),
    ),
    gauge(
      "agent_webhook_deliveries",
      "Deliveries to webhooks that wait or were given up, counted up to 1000 each.",
      samplesBy("state", {
        waiting: stored.webhooks?.waiting ?? 0,
        parked: stored.webhooks?.parked ?? 0,
      }),
    ),
    gauge(
      "agent_webhook_deliveries_due_timestamp_seconds",
      "When the first waiting delivery is or was due. Absent: none waits.",
      stored.webhooks?.waits_since ?? null,
    ),
    gauge(
      "agent_keys_expiring",
      "Agents that will have no live agent key within a week.",
      stored.keys_expiring,
    ),
    gauge("agent_database_bytes", "The size of the whole database.", stored.database_bytes),
    ...activityFamilies(stored.activity),
  ];
}

function heldSamples(held: HeldLog | null): Sample[] {
  const writer = held?.writers[0];
  if (held === null || writer === undefined) return [{ value: 0 }];
  if (held.seconds < HELD_SECONDS) return [{ value: held.seconds }];
  const { pid, prepared, application_name, state } = writer;
  const labels = {
    pid: String(pid ?? ""),
    application_name: application_name ?? "",
    state: prepared === null ? state ?? "" : `prepared transaction ${prepared}`,
  };
  return [{ labels, value: held.seconds }];
}
