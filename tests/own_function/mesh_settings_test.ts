import assert from "node:assert/strict";
import type { Agent } from "../conformance/client.ts";
import { join, meshTest, type Netmap, netmapOf } from "../conformance/mesh_cast.ts";
import { type OwnFunction, startOwnFunction } from "./own_function.ts";

meshTest(
  "MESH_ONLINE_SECONDS=1 → offline once its last heartbeat is a second old; online again with the next",
  async ({ alice }) => {
    await join(alice);
    await using own = await startOwnFunction({
      name: "agent-mesh",
      environment: { MESH_ONLINE_SECONDS: "1" },
    });
    await heartbeat(own, alice);
    await untilOffline(own, alice);
    // By the same clock, and no later heartbeat: only the stack's own window is longer.
    assert.equal((await netmapOf(alice)).peers[0]?.online, true);
    assert.equal((await heartbeat(own, alice)).body["online"], true);
    assert.equal(await isOnline(own, alice), true);
  },
);

meshTest("MESH_HEARTBEAT_SECONDS=7 → the interval that a heartbeat answers", async ({ alice }) => {
  await join(alice);
  await using own = await startOwnFunction({
    name: "agent-mesh",
    environment: { MESH_HEARTBEAT_SECONDS: "7" },
  });
  const { status, body } = await heartbeat(own, alice);
  assert.deepEqual([status, body["heartbeat_interval_seconds"]], [200, 7]);
});

function heartbeat(own: OwnFunction, as: Agent) {
  return own.post<Record<string, unknown>>("/peer/heartbeat", { as, body: { agent_id: as.id } });
}

async function isOnline(own: OwnFunction, agent: Agent): Promise<boolean | undefined> {
  const { body } = await own.post<Netmap>("/netmap", { as: agent, body: {} });
  return body.peers[0]?.online;
}

async function untilOffline(own: OwnFunction, agent: Agent): Promise<void> {
  while (await isOnline(own, agent) !== false) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
