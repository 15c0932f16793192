/** A name belongs to the way by which it first came; others are refused until a hand-over. */
import assert from "node:assert/strict";
import { publish } from "../conformance/artifacts.ts";
import {
  createAgent,
  endCreatedAgents,
  type JsonObject,
  operatorRpc,
  succeed,
} from "../conformance/client.ts";
import { endMadeEnrolments, newName, put, revokeAll } from "../conformance/enrolment/enrolments.ts";
import { withStackDatabase } from "../database/connection.ts";
import { signIn } from "./signed_in.ts";
import { HOW_MANY_WAYS, newWays, stateOf, TAKEN } from "./ways.ts";

Deno.test.afterEach(async () => {
  await endMadeEnrolments();
  await endCreatedAgents();
});

for (let first = 0; first < HOW_MANY_WAYS; first++) {
  Deno.test(`a name that way ${first} of four has taken → 409 agent_name_taken for each other, with nothing changed, and 200 once it is shared`, async () => {
    const ways = await newWays();
    const owner = ways[first]!;
    const name = newName("finance");
    assert.equal((await owner.enter(name)).status, 200, owner.what);
    for (const other of ways.filter((way) => way !== owner)) {
      const before = await stateOf(name);
      assert.deepEqual(await other.enter(name), TAKEN);
      assert.deepEqual(await stateOf(name), before, `${owner.what}, then ${other.what}`);
      assert.equal((await owner.enter(name)).status, 200);
    }
    for (const other of ways.filter((way) => way !== owner)) {
      // An agent has one enrolment at a time.
      if (first === 2 && other.what.startsWith("an enrolment key")) continue;
      const { status } = await operatorRpc("share_agent", {
        agent_id: name,
        way: await other.wayOf(name),
      });
      assert.equal(status, 200);
      assert.equal((await other.enter(name)).status, 200, `${owner.what}, ${other.what}`);
    }
  });
}

Deno.test("four ways in for one name at the same time, 12 times → exactly one of them gets it", async () => {
  const ways = await newWays();
  for (let round = 0; round < 12; round++) {
    const name = newName("race");
    const answers = await Promise.all(ways.map(({ enter }) => enter(name)));
    // A user that only reads may come before the name belongs to somebody.
    const took = answers.slice(0, 3).filter(({ status }) => status === 200).length;
    const [row] = await withStackDatabase((sql) =>
      sql<{ ways: string[] }[]>`select ways from agents.names where agent_id = ${name}`
    );
    assert.equal(row!.ways.length, 1);
    assert.equal(took, row!.ways[0] === "users" ? 0 : 1, JSON.stringify(answers));
    const again = await Promise.all(ways.map(({ enter }) => enter(name)));
    assert.equal(again.filter(({ status }) => status === 200).length, 1);
    assert.equal(again.filter(({ status }) => status === 409).length, 3);
  }
});

Deno.test("a name that the operator used in the body of /register or /peer/register → not for enrolments and users", async () => {
  const bodies: readonly (readonly [string, JsonObject])[] = [
    ["/agent-artifacts/register", { key: "a", mime: "text/plain", size: 1, ttl_days: 1 }],
    [
      "/agent-mesh/peer/register",
      { pubkey: btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(31)), 1)) },
    ],
  ];
  for (const [path, body] of bodies) {
    const ways = await newWays();
    const name = newName("payroll");
    await succeed(path, { as: "operator", body: { agent_id: name, ...body } });
    for (const other of ways.slice(1)) {
      assert.deepEqual(await other.enter(name), TAKEN);
    }
    assert.equal((await ways[0]!.enter(name)).status, 200);
    await operatorRpc("remove_agent", { agent_id: name });
  }
});

Deno.test("a user's first request is a change → the name is the users' at once", async () => {
  const [, byKey] = await newWays();
  const user = await signIn({ id: newName("ada") });
  await publish(user);
  assert.deepEqual(await byKey!.enter(user.id), TAKEN);
});

Deno.test("share_agent with an unknown way in, or an invalid name → 422, and nothing changed", async () => {
  const { id } = await createAgent("planner");
  const ended = await put();
  await revokeAll(ended.enrolment_id);
  const before = await stateOf(id);
  for (const way of ["everybody", "", null, ended.enrolment_id, `enr_${"0".repeat(32)}`]) {
    assert.equal((await operatorRpc("share_agent", { agent_id: id, way })).status, 422);
  }
  assert.equal((await operatorRpc("share_agent", { agent_id: "-", way: "users" })).status, 422);
  assert.deepEqual(await stateOf(id), before);
});
