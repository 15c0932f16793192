import assert from "node:assert/strict";
import { fetchDescribed, headersOf } from "../../../../tests/conformance/client.ts";
import {
  configVersionOf,
  heartbeat,
  join,
  meshTest,
} from "../../../../tests/conformance/mesh_cast.ts";
import { withStackDatabase } from "../../../../tests/database/connection.ts";
import { RENDERING_REVISION } from "../../../../supabase/functions/_shared/operations/waiting/config_version.ts";
import { parseRows, run } from "./run_report.ts";

/** The number in /metrics after a new count of the peers. */
async function peersBehind(): Promise<number> {
  await withStackDatabase((sql) => sql`delete from mesh.censuses where census = 'last'`);
  const response = await fetchDescribed("/agent-mesh/metrics", { headers: headersOf("operator") });
  const [, value] = /^agent_mesh_peers_behind (\d+)$/m.exec(await response.text()) ?? [];
  return Number(value);
}

async function peersThatLag(): Promise<string[]> {
  const { output } = await run("mesh_check", "--json");
  return parseRows<{ agent_id: string; fault: string }>(output)
    .filter(({ fault }) => fault === "version_lags")
    .map(({ agent_id }) => agent_id)
    .sort();
}

meshTest(
  "agent_mesh_peers_behind of GET /metrics and mesh check, of one that is current and two that lag, one by the rendering revision → two, by both",
  async ({ alice, bob, carol }) => {
    // Peers of other tests may lag on this stack.
    const before = await peersThatLag();
    for (const agent of [alice, bob, carol]) await join(agent);
    await heartbeat(alice, { config_version: await configVersionOf(alice) });
    assert.deepEqual([await peersThatLag(), await peersBehind()], [before, before.length]);

    for (const [agent, older] of [[bob, 1], [carol, RENDERING_REVISION]] as const) {
      await heartbeat(agent, { config_version: await configVersionOf(agent) - older });
    }
    const lagging = [...before, bob.id, carol.id].sort();
    assert.deepEqual([await peersThatLag(), await peersBehind()], [lagging, lagging.length]);
  },
);
