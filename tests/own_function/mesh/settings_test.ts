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
    // With the same clock and the same heartbeat, the stack's own function has a longer window.
    assert.equal((await netmapOf(alice)).peers[0]?.online, true);
    assert.equal((await heartbeatBy(own, alice)).body["online"], true);
    assert.equal(await isOnline(own, alice), true);
  },
);

for (const path of ["/peer/heartbeat", "/wait"]) {
  meshTest(
    `MESH_ONLINE_SECONDS=2 and ${path} that waits for 4 seconds → online until its wait is over, and for the 2 seconds after that`,
    async ({ alice }) => {
      await join(alice);
      const { config_version } = await netmapOf(alice);
      await using own = await startOwnFunction({
        name: "agent-mesh",
        environment: { MESH_ONLINE_SECONDS: "2" },
      });
      const { body } = await own.post<Record<string, unknown>>(path, {
        as: alice,
        body: { config_version, wait_seconds: 4 },
      });
      assert.equal(body["config_version"], config_version);
      assert.equal(await isOnline(own, alice), true, "counted from the end of the wait");
      await askUntil((online) => online === false, () => isOnline(own, alice));
      await heartbeatBy(own, alice);
      await own.post(path, { as: alice, body: { config_version: 0, wait_seconds: 140 } });
      assert.equal(
        await isOnline(own, alice),
        true,
        "it was answered at once, and asked for 140 s",
      );
      await heartbeatBy(own, alice);
      await askUntil((online) => online === false, () => isOnline(own, alice));
    },
  );
}

meshTest(
  "MESH_HEARTBEAT_SECONDS=7 → the interval in the answer to a heartbeat, and to /wait of both functions",
  async ({ alice }) => {
    await join(alice);
    const environment = { MESH_HEARTBEAT_SECONDS: "7" };
    await using own = await startOwnFunction({ name: "agent-mesh", environment });
    await using files = await startOwnFunction({ environment });
    const body = { agent_id: alice.id };
    const answers = [
      await heartbeatBy(own, alice),
      await own.post<Record<string, unknown>>("/wait", { as: alice, body }),
      await files.post<Record<string, unknown>>("/wait", { as: alice, body }),
    ];
    for (const { status, body } of answers) {
      assert.deepEqual([status, body["heartbeat_interval_seconds"]], [200, 7]);
    }
  },
);

function heartbeatBy(own: OwnFunction, as: Agent) {
  return own.post<Record<string, unknown>>("/peer/heartbeat", { as, body: { agent_id: as.id } });
}

async function isOnline(own: OwnFunction, agent: Agent): Promise<boolean | undefined> {
  const { body } = await own.post<Netmap>("/netmap", { as: agent, body: {} });
  return body.peers[0]?.online;
}
