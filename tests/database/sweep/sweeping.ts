/** The sweep of the shared stack, and the objects that it left. */
import { succeed } from "../../conformance/client.ts";
import { withStackDatabase } from "../connection.ts";

export interface Swept {
  readonly expired: number;
  readonly abandoned: number;
  readonly orphaned: number;
  readonly orphans_held: number;
  readonly forgotten_events: number;
  readonly removed_agents: number;
  readonly remaining: number;
}

interface Named {
  readonly artifact_id: string;
}

/** Sweeps until everything was checked: completes the round in progress, then a whole one. */
export async function sweepAll(): Promise<void> {
  for (let round = 0; round < 2; round++) {
    let swept: Swept;
    do {
      swept = await succeed<Swept>("/agent-artifacts/sweep", {
        as: "operator",
        body: { limit: 1000 },
      });
    } while (swept.remaining > 0);
  }
}

/** The paths of these artifacts' objects in the bucket, in byte order. */
export async function objectsOf(...artifacts: readonly Named[]): Promise<string[]> {
  const ids = artifacts.map((artifact) => artifact.artifact_id);
  const rows = await withStackDatabase((sql) =>
    sql<{ name: string }[]>`
      select name from storage.objects
      where bucket_id = 'agent-artifacts' and split_part(name, '/', 2) = any(${ids})
      order by name collate "C"`
  );
  return rows.map((row) => row.name);
}
