import type { Platform } from "../_shared/operations/operation.ts";
import type { CallerArgument } from "../_shared/identity/callers/caller.ts";
import { type ActivityCounts, activityFamilies } from "../_shared/request/usage/activity.ts";
import { gauge, type MetricFamily, samplesBy } from "../_shared/request/usage/exposition.ts";
import { RENDERING_REVISION } from "../_shared/operations/waiting/config_version.ts";
import type { MeshSettings } from "./settings.ts";

/** What read_mesh_metrics returns. Times are seconds since 1970, or null. */
interface Stored {
  readonly peers: Readonly<Record<string, number>>;
  readonly activity: ActivityCounts;
  readonly peers_behind: number;
  readonly peers_counted_at: number | null;
  readonly rules: Readonly<Record<string, number>>;
  readonly psks: readonly {
    readonly encryption_key_id: string;
    readonly count: number;
    readonly oldest_made_at: number | null;
  }[];
}

export async function readMetrics(
  { callDatabase, settings }: Platform<MeshSettings>,
  caller: CallerArgument,
): Promise<MetricFamily[]> {
  const stored = await callDatabase<Stored>("read_mesh_metrics", {
    caller,
    online_seconds: settings.meshOnlineSeconds,
    rendering_revision: RENDERING_REVISION,
  });
  return [
    gauge(
      "agent_mesh_peers",
      "Registered peers, as they were last counted.",
      samplesBy("state", stored.peers),
    ),
    gauge(
      "agent_mesh_peers_behind",
      "Online peers that report another configuration version than the current one.",
      stored.peers_behind,
    ),
    gauge(
      "agent_mesh_peers_counted_timestamp_seconds",
      "When peers were last counted: once a minute, in steps of at most 2000.",
      stored.peers_counted_at,
    ),
    gauge(
      "agent_mesh_rules",
      "Rules that are active, and requests that wait for the other side.",
      samplesBy("state", stored.rules),
    ),
    gauge(
      "agent_mesh_psks",
      "PSKs on record, by the id of the encryption key that encrypts them.",
      stored.psks.map(({ encryption_key_id, count }) => ({
        labels: { encryption_key_id },
        value: count,
      })),
    ),
    gauge(
      "agent_mesh_psks_oldest_timestamp_seconds",
      "When the oldest PSK of that encryption key was made.",
      stored.psks.map(({ encryption_key_id, oldest_made_at }) => ({
        labels: { encryption_key_id },
        value: oldest_made_at,
      })),
    ),
    ...activityFamilies(stored.activity),
  ];
}
