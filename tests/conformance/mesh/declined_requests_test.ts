import assert from "node:assert/strict";
import {
  type AccessRule,
  join,
  leavesUnchanged,
  meshTest,
  netmapOf,
  putRule,
  removePeer,
  revokeRule,
  ruleBetween,
} from "../mesh_cast.ts";
import type { Agent } from "../client.ts";

/** Asks `other` for a rule, and `other` declines. */
async function askInVain(asker: Agent, { rule, other }: { rule: AccessRule; other: Agent }) {
  assert.equal((await putRule(asker, rule)).body["created"], true);
  assert.equal((await revokeRule(other, rule)).body["revoked"], true);
}

for (const direction of ["a request for access", "an offer"]) {
  meshTest(
    `/acl/put of ${direction} that the other agent declined → the usual answer, nothing is made`,
    async ({ alice, bob, carol }) => {
      await Promise.all([join(alice), join(bob)]);
      const rule = direction === "an offer" ? ruleBetween(bob, alice) : ruleBetween(alice, bob);
      await askInVain(alice, { rule, other: bob });
      await leavesUnchanged([alice, bob, carol], async () => {
        const answer = await putRule(alice, rule);
        assert.equal(answer.status, 200);
        assert.deepEqual(answer.body, {
          ...rule,
          created: false,
          active: false,
          waiting_for: bob.id,
        });
      });
      assert.deepEqual((await netmapOf(bob)).acl_requests, []);
      assert.deepEqual((await revokeRule(alice, rule)).body, { ...rule, revoked: false });
    },
  );
}

meshTest(
  "/acl/put by the agent that declined → its own request, to which the other may agree",
  async ({ alice, bob }) => {
    await Promise.all([join(alice), join(bob)]);
    const rule = ruleBetween(alice, bob);
    await askInVain(alice, { rule, other: bob });
    assert.equal((await putRule(bob, rule)).body["waiting_for"], alice.id);
    assert.equal((await putRule(alice, rule)).body["active"], true);
    assert.deepEqual((await netmapOf(bob)).acls, [rule]);
  },
);

meshTest("/acl/put by the operator of a declined request → active", async ({ alice, bob }) => {
  const rule = ruleBetween(alice, bob);
  await askInVain(alice, { rule, other: bob });
  assert.equal((await putRule("operator", rule)).body["active"], true);
});

meshTest(
  "/peer/remove by the agent that asked → what was declined stays declined",
  async ({ alice, bob }) => {
    await Promise.all([join(alice), join(bob)]);
    const rule = ruleBetween(alice, bob);
    await askInVain(alice, { rule, other: bob });
    await removePeer(alice, alice.id);
    await join(alice);
    assert.equal((await putRule(alice, rule)).body["created"], false);
    assert.deepEqual((await netmapOf(bob)).acl_requests, []);
  },
);

for (const revoker of ["the agent that asked", "the operator"]) {
  meshTest(
    `/acl/revoke of a request by ${revoker} → not declined: it can be made again`,
    async ({ alice, bob }) => {
      await join(bob);
      const rule = ruleBetween(alice, bob);
      await putRule(alice, rule);
      await revokeRule(revoker === "the operator" ? "operator" : alice, rule);
      assert.equal((await putRule(alice, rule)).body["created"], true);
      assert.equal((await netmapOf(bob)).acl_requests.length, 1);
    },
  );
}

meshTest(
  "/acl/revoke of an active rule → not declined: either may ask again",
  async ({ alice, bob }) => {
    const rule = ruleBetween(alice, bob);
    await putRule("operator", rule);
    await revokeRule(bob, rule);
    assert.equal((await putRule(alice, rule)).body["created"], true);
  },
);

meshTest(
  "/acl/put of another port than the one that was declined → a request",
  async ({ alice, bob }) => {
    await join(bob);
    await askInVain(alice, { rule: ruleBetween(alice, bob, { port: 1 }), other: bob });
    const other = ruleBetween(alice, bob, { port: 2 });
    assert.equal((await putRule(alice, other)).body["created"], true);
    assert.deepEqual((await netmapOf(bob)).acl_requests, [{ ...other, waiting_for: bob.id }]);
  },
);
