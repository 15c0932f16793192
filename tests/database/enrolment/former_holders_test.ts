/** A revoked enrolment whose agent another enrolment, made for the same agent, has taken since. */
import assert from "node:assert/strict";
import { grant, publish, redeem } from "../../conformance/artifacts.ts";
import { endCreatedAgents, operatorRpc } from "../../conformance/client.ts";
import {
  agentOf,
  endMadeEnrolments,
  enrol,
  newName,
  put,
  revokeAll,
  whoami,
} from "../../conformance/enrolment/enrolments.ts";
import { withStackDatabase } from "../connection.ts";

Deno.test.afterEach(async () => {
  await endMadeEnrolments();
  await endCreatedAgents();
});

/** Enrols the agent by an enrolment for it alone; it gives a link. */
async function holderOf(agent_id: string, uses_left: number | null = null) {
  const { enrolment_id, enrolment_key } = await put({ agent_id, uses_left });
  const enrolled = await enrol({ enrolment_key });
  const agent = agentOf(enrolled);
  const { token } = await grant(agent, await publish(agent), {});
  return { enrolment_id, enrolment_key, enrolled, agent, token };
}

async function statusesOf(...holders: readonly { readonly token: string }[]) {
  return await Promise.all(holders.map(async ({ token }) => (await redeem(token)).status));
}

function formerHolders(agent_id: string) {
  return withStackDatabase((sql) =>
    sql`select from agents.former_holders where agent_id = ${agent_id}`
  );
}

Deno.test("three enrolments in turn for one agent, then undo_grants of each → ends what the agent had given until the next one, and no later grant, key or peer", async () => {
  const name = newName("planner");
  const first = await holderOf(name);
  await revokeAll(first.enrolment_id);
  const second = await holderOf(name);
  await revokeAll(second.enrolment_id);
  const third = await holderOf(name);
  assert.deepEqual(await statusesOf(first, second, third), [200, 200, 200]);
  const { body } = await operatorRpc("count_enrolled", { enrolment_id: first.enrolment_id });
  assert.deepEqual(body, { agents: 0, keys: 0, peers: 0, grants: 1 });

  const ended = await revokeAll(first.enrolment_id, { undo_grants: true });
  assert.deepEqual([ended.grants, ended.remaining], [1, 0]);
  assert.deepEqual(await statusesOf(first, second, third), [410, 200, 200]);
  assert.equal((await revokeAll(second.enrolment_id, { undo_grants: true })).grants, 1);
  assert.deepEqual(await statusesOf(second, third), [410, 200]);
  assert.equal((await whoami(third.enrolled)).status, 200);
  assert.equal((await formerHolders(name)).length, 0);
  assert.equal((await revokeAll(first.enrolment_id, { undo_grants: true })).grants, 0);
});

Deno.test("an enrolment that is used up, its agent taken by another, then undo_grants at the first revocation → ends its grants alone", async () => {
  const name = newName("planner");
  const first = await holderOf(name, 1);
  const second = await holderOf(name);
  assert.equal((await revokeAll(first.enrolment_id)).grants, 0);
  assert.deepEqual(await statusesOf(first, second), [200, 200]);
  assert.equal((await revokeAll(first.enrolment_id, { undo_grants: true })).grants, 1);
  assert.deepEqual(await statusesOf(first, second), [410, 200]);
});

Deno.test("end_enrolled_agent with few entries → ends the former holder's grants over several calls", async () => {
  const name = newName("planner");
  const first = await holderOf(name);
  const artifact = await publish(first.agent);
  for (let given = 0; given < 2; given++) await grant(first.agent, artifact, {});
  await revokeAll(first.enrolment_id);
  const second = await holderOf(name);
  const { enrolment_id } = first;
  const counts: number[] = [];
  for (let calls = 0; calls < 3; calls++) {
    const { body } = await operatorRpc<{ grants: number }>("end_enrolled_agent", {
      caller: { kind: "operator" },
      enrolment_id,
      agent_id: name,
      undo_grants: true,
      max_entries: 2,
    });
    counts.push(body.grants);
  }
  assert.deepEqual(counts, [2, 1, 0]);
  assert.deepEqual(await statusesOf(second), [200]);
});

Deno.test("an enrolment that has its agent again, and one that is not revoked → its own revocation ends all; a call for the other ends nothing", async () => {
  const name = newName("planner");
  const first = await holderOf(name);
  const { enrolment_id, enrolment_key } = await put({ agent_id: name, uses_left: null });
  await operatorRpc("share_agent", { agent_id: name, way: enrolment_id });
  const second = agentOf(await enrol({ enrolment_key }));
  const { token } = await grant(second, await publish(second), {});
  const { body } = await operatorRpc("end_enrolled_agent", {
    caller: { kind: "operator" },
    enrolment_id: first.enrolment_id,
    agent_id: name,
    undo_grants: true,
  });
  assert.deepEqual(body, { peer: false, grants: 0 });
  await operatorRpc("share_agent", { agent_id: name, way: first.enrolment_id });
  await enrol({ enrolment_key: first.enrolment_key });
  assert.equal((await formerHolders(name)).length, 1);
  assert.equal((await revokeAll(first.enrolment_id, { undo_grants: true })).grants, 2);
  assert.deepEqual(await statusesOf(first, { token }), [410, 410]);
  assert.equal((await revokeAll(enrolment_id, { undo_grants: true })).remaining, 0);
});
