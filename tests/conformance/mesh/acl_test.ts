import assert from "node:assert/strict";
import { assertError, assertInvalid } from "../client.ts";
import {
  agree,
  configOf,
  configVersionOf,
  idsIn,
  join,
  leavesUnchanged,
  meshTest,
  netmapOf,
  putRule,
  revokeRule,
  ruleBetween,
  valuesOf,
} from "../mesh_cast.ts";

for (const first of ["from_agent", "to_agent"] as const) {
  meshTest(
    `/acl/put by ${first} alone → a request, which gives nothing; by the other too → active`,
    async ({ alice, bob }) => {
      await join(alice);
      await join(bob);
      const rule = ruleBetween(alice, bob);
      const [asker, other] = first === "from_agent" ? [alice, bob] : [bob, alice];
      const versions = [await configVersionOf(alice), await configVersionOf(bob)];

      const request = { ...rule, created: true, active: false, waiting_for: other.id };
      assert.deepEqual((await putRule(asker, rule)).body, request);
      assert.deepEqual((await putRule(asker, rule)).body, { ...request, created: false });
      for (const agent of [alice, bob]) {
        const map = await netmapOf(agent);
        assert.deepEqual(idsIn(map), [agent.id]);
        assert.deepEqual(map.acls, []);
        assert.deepEqual(map.acl_requests, [{ ...rule, waiting_for: other.id }]);
        assert.deepEqual(valuesOf("PublicKey", await configOf(agent)), []);
      }
      assert.deepEqual([await configVersionOf(alice), await configVersionOf(bob)], versions);

      const agreed = { ...rule, created: false, active: true, waiting_for: null };
      assert.deepEqual((await putRule(other, rule)).body, agreed);
      assert.deepEqual((await putRule(other, rule)).body, agreed);
      for (const agent of [alice, bob]) {
        const map = await netmapOf(agent);
        assert.deepEqual(idsIn(map), [alice.id, bob.id]);
        assert.deepEqual(map.acls, [rule]);
        assert.deepEqual(map.acl_requests, []);
      }
    },
  );
}

meshTest(
  "/acl/put by the operator → active at once, a rule that was a request too",
  async ({ alice, bob }) => {
    const rule = ruleBetween(alice, bob);
    assert.deepEqual((await putRule("operator", rule)).body, {
      ...rule,
      created: true,
      active: true,
      waiting_for: null,
    });
    const requested = ruleBetween(bob, alice);
    await putRule(alice, requested);
    assert.deepEqual((await putRule("operator", requested)).body, {
      ...requested,
      created: false,
      active: true,
      waiting_for: null,
    });
  },
);

meshTest(
  "/acl/put for agents that are not peers yet → takes effect when they register",
  async ({ alice, bob }) => {
    await putRule(alice, ruleBetween(alice, bob));
    await putRule(bob, ruleBetween(alice, bob));
    await join(alice);
    assert.deepEqual((await netmapOf(alice)).peers.map(({ self }) => self), [true]);
    assert.deepEqual((await netmapOf(alice)).acls, [ruleBetween(alice, bob)]);
    await join(bob);
    for (const agent of [alice, bob]) assert.equal((await netmapOf(agent)).peers.length, 2);
  },
);

meshTest(
  "/acl/put and /acl/revoke by an agent that the rule does not name → 403, and nothing changes",
  async ({ alice, bob, carol }) => {
    await join(alice);
    await join(bob);
    const rule = ruleBetween(alice, bob);
    await agree(rule);
    await leavesUnchanged([alice, bob, carol], async () => {
      const strangers = [rule, ruleBetween(bob, alice), { ...rule, from_agent: "nobody-has-this" }];
      for (const named of strangers) {
        assertError(await putRule(carol, named), 403, "forbidden");
        assertError(await revokeRule(carol, named), 403, "forbidden");
      }
    });
  },
);

meshTest(
  "/acl/put and /acl/revoke of a rule from an agent to itself → 422, and nothing changes",
  async ({ alice }) => {
    await join(alice);
    await leavesUnchanged([alice], async () => {
      for (const as of [alice, "operator"] as const) {
        assertInvalid(await putRule(as, ruleBetween(alice, alice)), "to_agent");
        assertInvalid(await revokeRule(as, ruleBetween(alice, alice)), "to_agent");
      }
    });
  },
);

for (const revoker of ["alice", "bob", "operator"] as const) {
  meshTest(
    `/acl/revoke by ${revoker} → the rule is gone for both sides, and both must agree again`,
    async (cast) => {
      const { alice, bob } = cast;
      await join(alice);
      await join(bob);
      const rule = ruleBetween(alice, bob);
      await agree(rule);
      const as = revoker === "operator" ? revoker : cast[revoker];
      assert.deepEqual((await revokeRule(as, rule)).body, { ...rule, revoked: true });
      assert.deepEqual((await revokeRule(as, rule)).body, { ...rule, revoked: false });
      for (const agent of [alice, bob]) {
        const map = await netmapOf(agent);
        assert.deepEqual(idsIn(map), [agent.id]);
        assert.deepEqual([map.acls, map.acl_requests], [[], []]);
        assert.deepEqual(valuesOf("PublicKey", await configOf(agent)), []);
      }
      assert.deepEqual((await putRule(alice, rule)).body["waiting_for"], bob.id);
    },
  );
}

meshTest(
  "/acl/revoke of one of two rules → the two agents still see each other by the other rule",
  async ({ alice, bob }) => {
    await join(alice);
    await join(bob);
    const [web, dns] = [
      ruleBetween(alice, bob),
      ruleBetween(bob, alice, { port: 53, proto: "udp" }),
    ];
    await agree(web);
    await agree(dns);
    await revokeRule(bob, web);
    for (const agent of [alice, bob]) {
      const map = await netmapOf(agent);
      assert.equal(map.peers.length, 2);
      assert.deepEqual(map.acls, [dns]);
    }
  },
);

meshTest(
  "/acl/revoke of a request by the agent that was asked → the request is gone",
  async ({ alice, bob }) => {
    await join(bob);
    const rule = ruleBetween(alice, bob);
    await putRule(alice, rule);
    assert.deepEqual((await revokeRule(bob, rule)).body, { ...rule, revoked: true });
    assert.deepEqual((await netmapOf(bob)).acl_requests, []);
  },
);

meshTest(
  "/acl/put of rules that differ in port, proto or direction alone → each is a rule of its own",
  async ({ alice, bob }) => {
    await join(alice);
    const rules = [
      ruleBetween(alice, bob, { port: 80 }),
      ruleBetween(alice, bob, { port: 443 }),
      ruleBetween(alice, bob, { port: 80, proto: "udp" }),
      ruleBetween(bob, alice, { port: 80 }),
    ];
    for (const rule of rules.toReversed()) {
      assert.equal((await putRule("operator", rule)).body["created"], true);
    }
    assert.deepEqual((await netmapOf(alice)).acls, rules);
  },
);

meshTest(
  "/netmap with several requests → sorted by from_agent, to_agent, proto and port",
  async ({ alice, bob, carol }) => {
    await join(bob);
    const rules = [
      ruleBetween(alice, bob, { port: 80 }),
      ruleBetween(alice, bob, { port: 443 }),
      ruleBetween(alice, bob, { port: 53, proto: "udp" }),
      ruleBetween(bob, alice, { port: 80 }),
      ruleBetween(bob, carol, { port: 80 }),
      ruleBetween(carol, bob, { port: 22 }),
    ];
    for (const rule of rules.toReversed()) {
      assert.equal((await putRule(bob, rule)).body["active"], false);
    }
    assert.deepEqual(
      (await netmapOf(bob)).acl_requests,
      rules.map((rule) => ({
        ...rule,
        waiting_for: rule.from_agent === bob.id ? rule.to_agent : rule.from_agent,
      })),
    );
  },
);
