import assert from "node:assert/strict";
import { assertInvalid, post, succeed } from "../client.ts";
import { leavesUnchanged, meshTest, pairUp } from "../mesh_cast.ts";

const HEARTBEAT = "/agent-mesh/peer/heartbeat";

meshTest(
  "a heartbeat with refused connections, where nobody may have asked → 200",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    const refused = [{ agent_id: bob.id, port: null, proto: "udp", attempts: 1_000_000_000 }];
    const { online } = await succeed(HEARTBEAT, { as: alice, body: { refused } });
    assert.equal(online, true);
  },
);

for (
  const [what, changed, issue] of [
    ["no agent", { agent_id: undefined }, "refused.0.agent_id"],
    ["a text that is no agent", { agent_id: "a b" }, "refused.0.agent_id"],
    ["no port", { port: undefined }, "refused.0.port"],
    ["port 0", { port: 0 }, "refused.0.port"],
    ["another protocol", { proto: "icmp" }, "refused.0.proto"],
    ["no attempt", { attempts: 0 }, "refused.0.attempts"],
    ["too many attempts", { attempts: 1_000_000_001 }, "refused.0.attempts"],
    ["a further field", { name: "bob" }, "refused.0.name"],
  ] as const
) {
  meshTest(`refused connections with ${what} → 422, nothing changes`, async ({ alice, bob }) => {
    await pairUp(alice, bob);
    const refused = [{ agent_id: bob.id, port: 8080, proto: "tcp", attempts: 3, ...changed }];
    await leavesUnchanged([alice, bob], async () => {
      assertInvalid(await post(HEARTBEAT, { as: alice, body: { refused } }), issue);
    });
  });
}

meshTest("17 refused connections → 422, nothing changes", async ({ alice, bob }) => {
  await pairUp(alice, bob);
  const refused = Array.from({ length: 17 }, (_, index) => (
    { agent_id: bob.id, port: index + 1, proto: "tcp", attempts: 1 }
  ));
  await leavesUnchanged([alice, bob], async () => {
    assertInvalid(await post(HEARTBEAT, { as: alice, body: { refused } }), "refused");
  });
});
