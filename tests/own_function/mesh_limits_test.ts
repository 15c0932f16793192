import assert from "node:assert/strict";
import { type Agent, type Answer, assertError } from "../conformance/client.ts";
import {
  agree,
  configVersionOf,
  join,
  leavesUnchanged,
  meshTest,
  netmapOf,
  revokeRule,
  ruleBetween,
} from "../conformance/mesh_cast.ts";
import { type OwnFunction, startOwnFunction } from "./own_function.ts";

function put(own: OwnFunction, as: Agent, rule: object): Promise<Answer> {
  return own.post("/acl/put", { as, body: rule });
}

meshTest(
  "more requests than allowed → 409 limit_exceeded for the agent that makes them; the one that they name goes on",
  async ({ alice, bob, carol }) => {
    await using own = await startOwnFunction({
      name: "agent-mesh",
      environment: { MESH_MAX_REQUESTS: "2" },
    });
    await Promise.all([alice, bob, carol].map((agent) => join(agent)));
    for (const port of [1, 2]) {
      assert.equal((await put(own, alice, ruleBetween(alice, bob, { port }))).status, 200);
    }
    await leavesUnchanged([alice, bob, carol], async () => {
      const refused = await put(own, alice, ruleBetween(alice, carol));
      assert.deepEqual(assertError(refused, 409, "limit_exceeded"), {
        limit: "requests",
        maximum: 2,
      });
      // An offer counts as a request does.
      assertError(await put(own, alice, ruleBetween(bob, alice)), 409, "limit_exceeded");
    });

    assert.equal(
      (await put(own, alice, ruleBetween(alice, bob, { port: 1 }))).status,
      200,
      "again",
    );
    assert.equal(
      (await put(own, bob, ruleBetween(bob, carol))).status,
      200,
      "bob is named twice, and asked for nothing",
    );
    assert.equal((await put(own, bob, ruleBetween(alice, bob, { port: 1 }))).body["active"], true);
    assert.equal(
      (await put(own, alice, ruleBetween(alice, carol))).status,
      200,
      "an agreed request is none",
    );
  },
);

meshTest(
  "more active rules than allowed → 409 limit_exceeded for the agreeing side; a revocation makes room",
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
    assert.equal((await put(own, carol, third)).status, 200, "a request is no rule");
    const version = await configVersionOf(carol);
    await leavesUnchanged([alice, bob, carol], async () => {
      const refused = await put(own, alice, third);
      assert.deepEqual(assertError(refused, 409, "limit_exceeded"), { limit: "rules", maximum: 2 });
    });
    assert.equal(await configVersionOf(carol), version);

    assert.equal((await revokeRule(alice, first)).body["revoked"], true);
    assert.equal((await put(own, alice, third)).body["active"], true);
    assert.equal((await netmapOf(carol)).acls.length, 1);
  },
);
