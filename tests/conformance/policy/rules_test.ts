import assert from "node:assert/strict";
import { assertError, operatorRpc } from "../client.ts";
import {
  agree,
  configVersionOf,
  idsIn,
  join,
  leavesUnchanged,
  meshTest,
  netmapOf,
  putRule,
  revokeRule,
  ruleBetween,
} from "../mesh_cast.ts";
import { type Rule, withPolicyRules } from "./in_force.ts";

function opens(from: string, to: string): Rule {
  return { from: [from], to: [to], ports: [443], proto: "tcp" };
}

meshTest(
  "a rule of the policy → both see each other and the rule, as one that they agreed to",
  async ({ alice, bob, carol }) => {
    await join(alice);
    await join(bob);
    await join(carol);
    const rule = { ...ruleBetween(alice, bob), port: 443 };
    const carols = await configVersionOf(carol);
    await withPolicyRules([opens(alice.id, bob.id)], async () => {
      for (const agent of [alice, bob]) {
        const map = await netmapOf(agent);
        assert.deepEqual(idsIn(map), [alice.id, bob.id]);
        assert.deepEqual(map.acls, [rule]);
      }
      assert.deepEqual((await netmapOf(carol)).acls, []);
      const put = { ...rule, created: false, active: true, waiting_for: null };
      const versions = [await configVersionOf(alice), await configVersionOf(bob)];
      assert.deepEqual((await putRule(alice, rule)).body, put);
      assert.deepEqual([await configVersionOf(alice), await configVersionOf(bob)], versions);
    });
    assert.equal(await configVersionOf(carol), carols);
    assert.deepEqual((await netmapOf(bob)).acls, []);
    // Alice's own request remains, and waits for bob as it would without the policy.
    assert.deepEqual((await netmapOf(bob)).acl_requests, [{ ...rule, waiting_for: bob.id }]);
  },
);

meshTest(
  "/acl/revoke of a rule of the policy by either agent or the operator → 409 policy_rule, nothing changes",
  async ({ alice, bob }) => {
    await join(alice);
    await join(bob);
    const rule = { ...ruleBetween(alice, bob), port: 443 };
    await agree(rule);
    await withPolicyRules([opens(alice.id, bob.id)], async () => {
      for (const sender of [alice, bob, "operator"] as const) {
        await leavesUnchanged([alice, bob], async () => {
          assertError(await revokeRule(sender, rule), 409, "policy_rule");
        });
      }
    });
    // Their own rule still exists too.
    assert.deepEqual((await netmapOf(bob)).acls, [rule]);
    assert.equal((await revokeRule(bob, rule)).body["revoked"], true);
  },
);

meshTest(
  "a tag that comes and goes → the rules of the policy and config_version follow",
  async ({ alice, bob }) => {
    await join(alice);
    await join(bob);
    const tag = `tag:t-${crypto.randomUUID().slice(0, 8)}`;
    await withPolicyRules([opens(tag, bob.id)], async () => {
      const before = await configVersionOf(bob);
      assert.deepEqual(idsIn(await netmapOf(bob)), [bob.id]);
      await operatorRpc("set_agent_tags", { agent_id: alice.id, tags: [tag] });
      assert.deepEqual(idsIn(await netmapOf(bob)), [alice.id, bob.id]);
      assert.equal(await configVersionOf(bob), before + 1);
      await operatorRpc("set_agent_tags", { agent_id: alice.id, tags: [] });
      assert.deepEqual((await netmapOf(bob)).acls, []);
      assert.equal(await configVersionOf(bob), before + 2);
    });
  },
);
