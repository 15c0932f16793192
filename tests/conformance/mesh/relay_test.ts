import assert from "node:assert/strict";
import { assertError, ISO_TIMESTAMP, post } from "../client.ts";
import { join, leavesUnchanged, meshTest } from "../mesh_cast.ts";

interface RelayAnswer {
  readonly ice_servers: readonly object[];
  readonly expires_at: string;
}

meshTest(
  "/relay of an agent with a peer → TURN servers and credentials for an hour, or 503 where there is no relay",
  async ({ alice }) => {
    await join(alice);
    await leavesUnchanged([alice], async () => {
      const answer = await post<RelayAnswer>("/agent-mesh/relay", { as: alice });
      if (answer.status !== 200) {
        assertError(answer, 503, "misconfigured");
        return;
      }
      const { ice_servers, expires_at, ...others } = answer.body;
      assert.deepEqual(others, {});
      assert.match(expires_at, ISO_TIMESTAMP);
      // An hour, and one minute for clock differences.
      assert.ok(Date.parse(expires_at) <= Date.now() + 3_660_000);
      assert.ok(ice_servers.length > 0);
      for (const server of ice_servers) {
        assert.deepEqual(Object.keys(server).sort(), ["credential", "urls", "username"]);
        assert.ok(!JSON.stringify(server).includes(alice.id));
      }
    });
  },
);

meshTest("/relay of an agent without a peer → 404", async ({ alice }) => {
  await leavesUnchanged([alice], async () => {
    assertError(await post("/agent-mesh/relay", { as: alice }), 404, "peer_not_found");
    const body = { agent_id: alice.id };
    assertError(await post("/agent-mesh/relay", { as: "operator", body }), 404, "peer_not_found");
  });
});
