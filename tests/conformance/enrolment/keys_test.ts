import assert from "node:assert/strict";
import {
  assertError,
  assertInvalid,
  createAgent,
  endCreatedAgents,
  operatorRpc,
  post,
  succeed,
} from "../client.ts";
import { assertUnauthenticated } from "../credentials.ts";
import { secondsFromNow } from "../artifacts.ts";
import { join } from "../mesh_cast.ts";
import {
  agentOf,
  endMadeEnrolments,
  enrol,
  type Enrolment,
  eventsOf,
  newName,
  put,
  revokeAll,
  tryEnrol,
  use,
  whoami,
} from "./enrolments.ts";

Deno.test.afterEach(async () => {
  await endMadeEnrolments();
  await endCreatedAgents();
});

Deno.test("/enrolment/put of kind key → its key once, one use, one hour; /enrolment/list has the rest", async () => {
  const made = await put({ label: "a vm", tags: ["tag:vm"] });
  const { enrolment_key, ...rest } = made;
  assert.match(enrolment_key, /^ek_[0-9a-f]{64}$/);
  assert.equal(rest.uses_left, 1);
  const hours = (Date.parse(rest.expires_at!) - Date.now()) / 3_600_000;
  assert.ok(hours > 0.98 && hours < 1.02, String(hours));
  let listed: Enrolment | undefined;
  let cursor: string | null = null;
  do {
    const page: { enrolments: Enrolment[]; next_cursor: string | null } = await succeed(
      "/agent-mesh/enrolment/list",
      { as: "operator", body: { limit: 1000, ...(cursor !== null && { cursor }) } },
    );
    listed ??= page.enrolments.find(({ enrolment_id }) => enrolment_id === made.enrolment_id);
    cursor = page.next_cursor;
  } while (cursor !== null);
  assert.deepEqual(listed, rest);
});

Deno.test("/enroll with an enrolment key → an agent with a key, its tags, and an end", async () => {
  const { enrolment_key, enrolment_id } = await put({
    tags: ["tag:vm", "tag:eu"],
    session_seconds: 120,
    ephemeral_seconds: 600,
  });
  const agent_name = newName("vm");
  const enrolled = await enrol({ enrolment_key, agent_name }, { by: "agent-mesh" });
  const { key, key_id, expires_at, ...rest } = enrolled;
  assert.match(key, /^ak_[0-9a-f]{64}$/);
  const seconds = (Date.parse(expires_at) - Date.now()) / 1000;
  assert.ok(seconds > 100 && seconds < 140, String(seconds));
  assert.deepEqual(rest, {
    agent_id: agent_name,
    tags: ["tag:eu", "tag:vm"],
    generation: 1,
    ephemeral_seconds: 600,
  });
  const { body } = await whoami(enrolled);
  assert.deepEqual(
    [body["agent_id"], body["key_id"], body["tags"]],
    [agent_name, key_id, ["tag:eu", "tag:vm"]],
  );
  const [event] = await eventsOf("agent.enrolled", { agent_id: agent_name });
  assert.equal(event!["enrolment_id"], enrolment_id);
});

Deno.test("an enrolment key of one use → once it is used, refused; the key that it brought stays", async () => {
  const { enrolment_key, enrolment_id } = await put();
  const agent_name = newName("vm");
  const first = await enrol({ enrolment_key, agent_name });
  await use(first);
  for (const name of [agent_name, newName("other")]) {
    assertError(
      await tryEnrol({ enrolment_key, agent_name: name }),
      401,
      "enrolment_refused",
    );
  }
  assert.equal((await whoami(first)).status, 200);
  const reasons = (await eventsOf("enrolment.refused"))
    .filter((event) => event["enrolment_id"] === enrolment_id).map(({ reason }) => reason);
  assert.deepEqual(reasons, ["used_up", "used_up"]);
});

Deno.test("/enroll again before the key was used → the answer was lost: one live key, one use counted", async () => {
  const { enrolment_key } = await put();
  const agent_name = newName("vm");
  const lost = [
    await enrol({ enrolment_key, agent_name }),
    await enrol({ enrolment_key, agent_name }),
  ];
  const last = await enrol({ enrolment_key, agent_name });
  assert.equal(last.generation, 3);
  await use(last);
  for (const one of lost) assertError(await whoami(one), 401, "superseded");
  const { body } = await operatorRpc<{ live_keys: number }>("read_agent", {
    agent_id: agent_name,
  });
  assert.equal(body.live_keys, 1);
});

Deno.test("the next generation → the key before works until the new one is used, then it is superseded", async () => {
  const { enrolment_key } = await put({ uses_left: null });
  const agent_name = newName("vm");
  const first = await enrol({ enrolment_key, agent_name });
  await use(first);
  const second = await enrol({ enrolment_key, agent_name });
  assert.deepEqual([second.agent_id, second.generation], [agent_name, 2]);
  await use(first);
  await use(second);
  assertError(await whoami(first), 401, "superseded");
  assertError(
    await post("/agent-mesh/netmap", { as: agentOf(first) }),
    401,
    "superseded",
  );
  await use(second);
});

Deno.test("/enroll with a name of another agent → agent_name_taken, and that agent keeps what it has", async () => {
  const [one, other] = [await put({ uses_left: null }), await put({ uses_left: null })];
  const agent_name = newName("vm");
  const holder = await enrol({ enrolment_key: one.enrolment_key, agent_name });
  await use(holder);
  const planner = await createAgent("new-planner");
  for (const name of [agent_name, planner.id]) {
    assertError(
      await tryEnrol({ enrolment_key: other.enrolment_key, agent_name: name }),
      409,
      "agent_name_taken",
    );
  }
  assert.equal((await whoami(holder)).status, 200);
  assert.equal((await whoami(planner)).status, 200);
});

Deno.test("an enrolment with an agent_id → that agent, whatever it was, and no other name", async () => {
  const planner = await createAgent("planner");
  const { enrolment_key } = await put({ agent_id: planner.id });
  assertInvalid(await tryEnrol({ enrolment_key, agent_name: newName("vm") }), "agent_name");
  const enrolled = await enrol({ enrolment_key });
  assert.equal(enrolled.agent_id, planner.id);
  await use(enrolled);
  assert.equal((await whoami(planner)).status, 200);
});

Deno.test("a second enrolment for one agent → its name is taken until nobody enrols by the first, then the agent comes by the second alone", async () => {
  const agent_id = newName("laptop");
  const one = await put({ agent_id, uses_left: 2, tags: ["tag:one"] });
  const other = await put({ agent_id, tags: ["tag:other"] });
  const first = await enrol({ enrolment_key: one.enrolment_key });
  await use(first);
  const { addresses } = await join(agentOf(first));
  const proof = { enrolment_key: other.enrolment_key };
  assertError(await tryEnrol(proof), 409, "agent_name_taken");
  assert.equal((await whoami(first)).status, 200);
  const second = await enrol({ enrolment_key: one.enrolment_key });
  await use(second);
  // The first enrolment has no uses left, so the second one may now take the name.
  const lost = await enrol(proof);
  assertError(await whoami(second), 401, "superseded");
  const third = await enrol(proof);
  assertError(await whoami(lost), 401, "superseded");
  assert.deepEqual([third.generation, third.tags], [4, ["tag:other"]]);
  await use(third);
  assert.deepEqual((await join(agentOf(third))).addresses, addresses);
  assertError(await tryEnrol({ enrolment_key: one.enrolment_key }), 401, "enrolment_refused");
  assert.equal((await revokeAll(one.enrolment_id)).agents, 0);
  assert.equal((await whoami(third)).status, 200);
  assert.equal((await revokeAll(other.enrolment_id)).agents, 1);
  assertUnauthenticated(await whoami(third));
});

Deno.test("/enroll with what is no proof → refused, and nobody enrols", async () => {
  const { enrolment_key } = await put();
  const unknown = { enrolment_key: `ek_${"0".repeat(64)}`, agent_name: newName("vm") };
  assertError(await tryEnrol(unknown), 401, "enrolment_refused");
  const { reason } = (await eventsOf("enrolment.refused")).at(-1)!;
  assert.equal(reason, "unknown_enrolment_key");
  assertInvalid(await tryEnrol({ enrolment_key }), "agent_name");
  assertInvalid(await tryEnrol({}), "enrolment_key");
  assertInvalid(await tryEnrol({ enrolment_key, token: "a.b.c" }), "enrolment_key");
  assertInvalid(await tryEnrol({ enrolment_key: "ek_0", agent_name: "a" }), "enrolment_key");
  const agent_name = newName("vm");
  assertInvalid(await tryEnrol({ enrolment_key, agent_name: `${agent_name} ` }), "agent_name");
  assert.equal((await enrol({ enrolment_key, agent_name })).generation, 1);
});

Deno.test("an enrolment that has ended, or of an agent that was removed → refused, with the reason in the event", async () => {
  const over = await put({ expires_at: secondsFromNow(4) });
  await new Promise((resolve) => setTimeout(resolve, 4200));
  const agent_name = newName("vm");
  const { enrolment_key } = over;
  assertError(await tryEnrol({ enrolment_key, agent_name }), 401, "enrolment_refused");
  const removing = await put({ uses_left: null });
  const proof = { enrolment_key: removing.enrolment_key, agent_name };
  const enrolled = await enrol(proof);
  await use(enrolled);
  await operatorRpc("remove_agent", { agent_id: agent_name });
  assertUnauthenticated(await whoami(enrolled));
  assertError(await tryEnrol(proof), 401, "enrolment_refused");
  const refused = await eventsOf("enrolment.refused");
  const reasonOf = (id: string) =>
    refused.find((event) => event["enrolment_id"] === id)?.["reason"];
  assert.equal(reasonOf(over.enrolment_id), "ended");
  assert.equal(reasonOf(removing.enrolment_id), "agent_removed");
  await operatorRpc("readmit_agent", { agent_id: agent_name });
  assert.equal((await enrol(proof)).generation, 2);
});

Deno.test("/leave → keys, peer and rules end; the same agent enrols again with its name", async () => {
  const { enrolment_key } = await put({ uses_left: null, tags: ["tag:vm"] });
  const agent_name = newName("vm");
  const enrolled = await enrol({ enrolment_key, agent_name });
  const answer = await succeed("/agent-mesh/leave", { as: agentOf(enrolled) });
  assert.deepEqual(answer, { agent_id: agent_name, left: true });
  assertUnauthenticated(await whoami(enrolled));
  const { body } = await operatorRpc<{ tags: string[] }>("read_agent", { agent_id: agent_name });
  assert.deepEqual(body.tags, []);
  assert.deepEqual((await eventsOf("agent.left", { agent_id: agent_name })).length, 1);
  const again = await enrol({ enrolment_key, agent_name });
  assert.deepEqual([again.agent_id, again.generation, again.tags], [agent_name, 2, ["tag:vm"]]);
});

Deno.test("/enrolment/revoke → new enrolments and every key end, with the first answer that says remaining 0", async () => {
  const { enrolment_key, enrolment_id } = await put({ uses_left: null });
  const agents = await Promise.all(
    Array.from({ length: 5 }, () => enrol({ enrolment_key, agent_name: newName("vm") })),
  );
  for (const agent of agents.slice(0, 4)) await use(agent);
  const outsider = await createAgent("planner");
  const revoked = await revokeAll(enrolment_id);
  assert.deepEqual(revoked, { agents: 5, keys: 5, peers: 0, grants: 0, remaining: 0 });
  for (const agent of agents) assertUnauthenticated(await whoami(agent));
  assert.equal((await whoami(outsider)).status, 200);
  assertError(
    await tryEnrol({ enrolment_key, agent_name: newName("vm") }),
    401,
    "enrolment_refused",
  );
  assert.deepEqual(await revokeAll(enrolment_id), {
    agents: 0,
    keys: 0,
    peers: 0,
    grants: 0,
    remaining: 0,
  });
});
