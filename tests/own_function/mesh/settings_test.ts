import assert from "node:assert/strict";
import { askUntil } from "../../conformance/ask_until.ts";
import type { Agent } from "../../conformance/client.ts";
import { join, meshTest, type Netmap, netmapOf } from "../../conformance/mesh_cast.ts";
import { type OwnFunction, startOwnFunction } from "../own_function.ts";

meshTest(
  "MESH_ONLINE_SECONDS=3 → offline three seconds after the last heartbeat, online with the next",
  async ({ alice }) => {
    await join(alice);
    await using own = await startOwnFunction({
      name: "agent-mesh",
      environment: { MESH_ONLINE_SECONDS: "3" },
    });
    await heartbeatBy(own, alice);
    await askUntil((online) => online === false, () => isOnline(own, alice));
    // The same clock and the same heartbeat, but the longer window of the stack's own function.
    assert.equal((await netmapOf(alice)).peers[0]?.online, true);
    assert.equal((await heartbeatBy(own, alice)).body["online"], true);
    assert.equal(await isOnline(own, alice), true);
  },
);

meshTest(
  "MESH_HEARTBEAT_SECONDS=7 → the interval in the answer to a heartbeat",
  async ({ alice }) => {
    await join(alice);
    await using own = await startOwnFunction({
      name: "agent-mesh",
      environment: { MESH_HEARTBEAT_SECONDS: "7" },
    });
    const { status, body } = await heartbeatBy(own, alice);
    assert.deepEqual([status, body["heartbeat_interval_seconds"]], [200, 7]);
  },
);

function heartbeatBy(own: OwnFunction, as: Agent) {
  return own.post<Record<string, unknown>>("/peer/heartbeat", { as, body: { agent_id: as.id } });
}

async function isOnline(own: OwnFunction, agent: Agent): Promise<boolean | undefined> {
  const { body } = await own.post<Netmap>("/netmap", { as: agent, body: {} });
  return body.peers[0]?.online;
}
