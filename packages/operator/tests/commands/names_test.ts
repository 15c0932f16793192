/** What the operator is told of whose a name is, and how it is handed over. */
import assert from "node:assert/strict";
import { publish } from "../../../../tests/conformance/artifacts.ts";
import { endCreatedAgents, operatorRpc } from "../../../../tests/conformance/client.ts";
import {
  agentOf,
  endMadeEnrolments,
  enrol,
  newName,
  put,
  revokeAll,
  tryEnrol,
  use,
  whoami,
} from "../../../../tests/conformance/enrolment/enrolments.ts";
import type { Ways } from "../../names/take_over.ts";
import { agentops } from "./in_process.ts";
import { signIn } from "../../../../tests/users/signed_in.ts";

Deno.test.afterEach(async () => {
  await endMadeEnrolments();
  await endCreatedAgents();
});

function create(...args: string[]) {
  return agentops("agent create", args);
}

async function who(name: string): Promise<string> {
  const { code, output, errors } = await agentops("agent who", [name]);
  assert.equal(code, 0, errors);
  return output.replaceAll(/\s+/g, " ");
}

/** A name that an agent of a group's enrolment key has taken. */
async function newStranger() {
  const { enrolment_id, enrolment_key } = await put({ uses_left: null, label: "a group" });
  const agent_name = newName("finance");
  const enrolled = await enrol({ enrolment_key, agent_name });
  await use(enrolled);
  await publish(agentOf(enrolled));
  return { enrolment_id, enrolment_key, agent_name, enrolled };
}

Deno.test("agent create of a name that an enrolment holds → refused with whose it is and what to do, and no key is made", async () => {
  const { enrolment_id, agent_name, enrolled } = await newStranger();
  const refused = await create(agent_name);
  assert.deepEqual([refused.code, refused.output], [1, ""]);
  assert.ok(refused.errors.includes(`belongs to the enrolment ${enrolment_id}.`), refused.errors);
  assert.match(refused.errors, /--share.*--take-over/s);
  const asked = await create(agent_name, "--take-over");
  assert.deepEqual([asked.code, asked.output], [2, ""]);
  assert.match(asked.errors, /ends 1 agent keys, 1 files/);
  assert.equal((await create(agent_name, "--share", "--take-over", "--yes")).code, 2);
  const { body } = await operatorRpc<{ live_keys: number }>("read_agent", {
    agent_id: agent_name,
  });
  assert.equal(body.live_keys, 1);
  assert.equal((await whoami(enrolled)).status, 200);
});

Deno.test("agent create --take-over --yes → the stranger is out, and the operator's key works", async () => {
  const { enrolment_key, agent_name, enrolled } = await newStranger();
  const { code, output, errors } = await create(agent_name, "--take-over", "--yes");
  assert.equal(code, 0, errors);
  assert.equal((await whoami(enrolled)).status, 401);
  assert.equal((await tryEnrol({ enrolment_key, agent_name })).status, 409);
  assert.equal((await whoami({ id: agent_name, key: output, keyId: "" })).status, 200);
  assert.match(await who(agent_name), /belongs to +the operator/);
  await operatorRpc("remove_agent", { agent_id: agent_name });
});

Deno.test("agent create --share, then agent share --with users → all three are the agent, and agent who says so", async () => {
  const { enrolment_id, agent_name, enrolled } = await newStranger();
  const free = await who(newName("nobody"));
  assert.match(free, /belongs to +nobody yet/);
  const { code, output } = await create(agent_name, "--share");
  assert.equal(code, 0);
  assert.equal((await whoami(enrolled)).status, 200);
  assert.equal((await whoami({ id: agent_name, key: output, keyId: "" })).status, 200);
  const shared = await agentops("agent share", [agent_name, "--with", "users"]);
  assert.equal(shared.code, 0, shared.errors);
  const user = await signIn({ id: agent_name }, { shares: false });
  assert.equal((await whoami(user)).status, 200);
  const told = await who(agent_name);
  assert.ok(
    told.includes(`the enrolment ${enrolment_id}, the operator, the project's users`),
    told,
  );
  assert.ok(told.includes(`${enrolment_id} (a group), by its agent_prefix: can become`), told);
  assert.equal(told.match(/agent key +key_/g)?.length, 2);
  await operatorRpc("remove_agent", { agent_id: agent_name });
  assert.match(await who(agent_name), /kept out +removed/);
  for (const args of [[agent_name], [agent_name, "--with", "everybody"]]) {
    assert.notEqual((await agentops("agent share", args)).code, 0);
  }
});

Deno.test("agent who of a name whose enrolment was revoked, and that has left nothing → another enrolment can become the agent, as it then does; while a file is left, none can", async () => {
  for (const leaves of [false, true]) {
    const former = await put({ uses_left: null });
    const agent_name = newName("finance");
    const enrolled = await enrol({ enrolment_key: former.enrolment_key, agent_name });
    if (leaves) await publish(agentOf(enrolled));
    await revokeAll(former.enrolment_id);
    const { enrolment_id, enrolment_key } = await put({ uses_left: null, label: "another" });
    const { body: told } = await operatorRpc<Ways>("read_ways", { agent_id: agent_name });
    const named = told.enrolments.find((one) => one.enrolment_id === enrolment_id);
    const { status } = await tryEnrol({ enrolment_key, agent_name });
    assert.deepEqual([named?.may_enter, status], leaves ? [false, 409] : [true, 200]);
  }
});
