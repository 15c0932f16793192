import assert from "node:assert/strict";
import { type Agent, type Answer, assertError } from "../../conformance/client.ts";
import {
  agree,
  configVersionOf,
  join,
  leavesUnchanged,
  meshTest,
  netmapOf,
  revokeRule,
  ruleBetween,
} from "../../conformance/mesh_cast.ts";
import { type OwnFunction, startOwnFunction } from "../own_function.ts";

/** Calls this function's /acl/put. */
function putRuleBy(own: OwnFunction, as: Agent, rule: object): Promise<Answer> {
  return own.post("/acl/put", { as, body: rule });
}

meshTest(
  "/acl/put of more requests than allowed → 409 for the agent that makes them, not for the other",
  async ({ alice, bob, carol }) => {
    await using own = await startOwnFunction({
      name: "agent-mesh",
      environment: { MESH_MAX_REQUESTS: "2" },
    });
    await Promise.all([alice, bob, carol].map((agent) => join(agent)));
    for (const port of [1, 2]) {
      assert.equal((await putRuleBy(own, alice, ruleBetween(alice, bob, { port }))).status, 200);
    }
    await leavesUnchanged([alice, bob, carol], async () => {
      const refused = await putRuleBy(own, alice, ruleBetween(alice, carol));
      assert.deepEqual(assertError(refused, 409, "limit_exceeded"), {
        limit: "requests",
        maximum: 2,
      });
      // An offer counts as a request.
      assertError(await putRuleBy(own, alice, ruleBetween(bob, alice)), 409, "limit_exceeded");
    });

    assert.equal(
      (await putRuleBy(own, alice, ruleBetween(alice, bob, { port: 1 }))).status,
      200,
      "a request that is there already",
    );
    assert.equal(
      (await putRuleBy(own, bob, ruleBetween(bob, carol))).status,
      200,
      "the requests that name bob are not bob's",
    );
    assert.equal(
      (await putRuleBy(own, bob, ruleBetween(alice, bob, { port: 1 }))).body["active"],
      true,
    );
    assert.equal(
      (await putRuleBy(own, alice, ruleBetween(alice, carol))).status,
      200,
      "what was agreed to is no longer a request",
    );
  },
);

meshTest(
  "/acl/put of more requests of one agent to another than allowed → 409, for nobody else",
  async ({ alice, bob, carol }) => {
    await using own = await startOwnFunction({
      name: "agent-mesh",
      environment: { MESH_MAX_REQUESTS_PER_TARGET: "2" },
    });
    await Promise.all([alice, bob, carol].map((agent) => join(agent)));
    const put = (as: Agent, rule: object) => putRuleBy(own, as, rule);
    const first = ruleBetween(alice, bob, { port: 1 });
    // One request and one offer.
    assert.equal((await put(alice, first)).status, 200);
    assert.equal((await put(alice, ruleBetween(bob, alice, { port: 2 }))).status, 200);
    const third = ruleBetween(alice, bob, { port: 3 });
    const isRefused = () =>
      leavesUnchanged([alice, bob, carol], async () => {
        assert.deepEqual(assertError(await put(alice, third), 409, "limit_exceeded"), {
          limit: "requests_per_target",
          maximum: 2,
        });
      });
    await isRefused();

    assert.equal((await put(alice, ruleBetween(alice, carol))).status, 200, "another target");
    assert.equal((await put(carol, ruleBetween(carol, bob))).status, 200, "another agent asks");
    assert.equal((await put(bob, ruleBetween(bob, alice, { port: 4 }))).status, 200, "back");
    await revokeRule(bob, first);
    await isRefused();
    assert.equal((await put(bob, ruleBetween(bob, alice, { port: 2 }))).body["active"], true);
    assert.equal((await put(alice, third)).status, 200, "what was agreed to is no request");
  },
);

meshTest(
  "/acl/put that agrees to more rules than allowed → 409, nothing changes, until one is revoked",
  async ({ alice, bob, carol }) => {
    await using own = await startOwnFunction({
      name: "agent-mesh",
      environment: { MESH_MAX_RULES: "2" },
    });
    await Promise.all([alice, bob, carol].map((agent) => join(agent)));
    const first = ruleBetween(alice, bob, { port: 1 });
    await agree(first);
    await agree(ruleBetween(bob, alice, { port: 2 }));

    const third = ruleBetween(carol, alice);
    assert.equal((await putRuleBy(own, carol, third)).status, 200, "a request is not a rule yet");
    const version = await configVersionOf(carol);
    await leavesUnchanged([alice, bob, carol], async () => {
      const refused = await putRuleBy(own, alice, third);
      assert.deepEqual(assertError(refused, 409, "limit_exceeded"), { limit: "rules", maximum: 2 });
    });
    assert.equal(await configVersionOf(carol), version);

    assert.equal((await revokeRule(alice, first)).body["revoked"], true);
    assert.equal((await putRuleBy(own, alice, third)).body["active"], true);
    assert.equal((await netmapOf(carol)).acls.length, 1);
  },
);
