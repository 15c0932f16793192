import type { Platform } from "../_shared/operations/operation.ts";
import type { CallerArgument } from "../_shared/request/caller.ts";
import { type MetricFamily, samplesBy } from "../_shared/usage/exposition.ts";
import type { MeshSettings } from "./settings.ts";

/** What read_mesh_metrics returns. Times are seconds since 1970, or null. */
interface Stored {
  readonly peers: Readonly<Record<string, number>>;
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
  });
  return [
    {
      name: "agent_mesh_peers",
      help: "Registered peers, as they were last counted.",
      type: "gauge",
      samples: samplesBy("state", stored.peers),
    },
    {
      name: "agent_mesh_peers_behind",
      help: "Peers online that said they run an older configuration than the one due.",
      type: "gauge",
      samples: [{ value: stored.peers_behind }],
    },
    {
      name: "agent_mesh_peers_counted_timestamp_seconds",
      help: "When peers were last counted: once a minute, in steps of 2000 where there are more.",
      type: "gauge",
      samples: [{ value: stored.peers_counted_at }],
    },
    {
      name: "agent_mesh_rules",
      help: "Rules that are active, and requests that wait for the other side.",
      type: "gauge",
      samples: samplesBy("state", stored.rules),
    },
    {
      name: "agent_mesh_psks",
      help: "PSKs on record, by the id of the key that encrypts them.",
      type: "gauge",
      samples: stored.psks.map(({ encryption_key_id, count }) => ({
        labels: { encryption_key_id },
        value: count,
      })),
    },
    {
      name: "agent_mesh_psks_oldest_timestamp_seconds",
      help: "When the oldest of them was made.",
      type: "gauge",
      samples: stored.psks.map(({ encryption_key_id, oldest_made_at }) => ({
        labels: { encryption_key_id },
        value: oldest_made_at,
      })),
    },
  ];
}
