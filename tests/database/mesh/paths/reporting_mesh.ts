import assert from "node:assert/strict";
import { meshDatabaseForThisFile, type PathReport } from "../mesh_database.ts";

const file = meshDatabaseForThisFile();

export const NO_REPORTS = { reported_by_self: null, reported_by_peer: null };

/** A new mesh of these agents, in which the first one shares a rule with each of the others. */
export async function meshOf(first: string, ...others: string[]) {
  const { mesh } = file;
  await mesh.startOver();
  for (const agent of [first, ...others]) await mesh.register(agent);
  for (const other of others) await mesh.put({ from_agent: first, to_agent: other });
  return mesh;
}

/**
 * The rows with their physical location and last writer. If these are equal, nothing was written.
 */
export function places() {
  return file.mesh.owner`
    select ctid::text as place, xmin::text as writer, agent_id, other_agent
    from mesh.path_reports order by agent_id, other_agent`;
}

/** Makes an agent's newest report and heartbeat older. */
export async function age(agent: string, interval: string) {
  await file.mesh.owner`
    update mesh.liveness
    set last_seen = last_seen - ${interval}::interval,
        waits_until = waits_until - ${interval}::interval,
        paths_reported_at = paths_reported_at - ${interval}::interval
    where agent_id = ${agent}`;
  await file.mesh.owner`
    update mesh.path_reports
    set handshake_at = handshake_at - ${interval}::interval,
        since = since - ${interval}::interval,
        left_out_at = left_out_at - ${interval}::interval
    where agent_id = ${agent}`;
}

export function present(report: PathReport | null | undefined): PathReport {
  assert.ok(report);
  return report;
}
