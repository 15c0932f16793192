/** Grants to a tag, after their owner or an agent with the tag is removed, erased, or has left. */
import assert from "node:assert/strict";
import { grant, inbox, open, publish, redeem } from "../../conformance/artifacts.ts";
import {
  type Agent,
  assertError,
  createAgent,
  endCreatedAgents,
  operatorRpc,
  post,
} from "../../conformance/client.ts";
import {
  agentOf,
  endMadeEnrolments,
  enrol,
  eventsOf,
  newName,
  put,
  revokeAll,
} from "../../conformance/enrolment/enrolments.ts";
import { inboxIds, newTag, setTags } from "../../conformance/tags/tagged.ts";
import { runTask } from "../../../packages/local/tests/stack/stack_process.ts";
import { newName as newUser, signIn } from "../../users/signed_in.ts";
import { columnsWith } from "../erasure/cast.ts";

Deno.test.afterEach(async () => {
  await endMadeEnrolments();
  await endCreatedAgents();
});

/** A file that its owner grants to a tag. Two agents have the tag; one of them has opened it. */
async function shared(owner?: Agent) {
  const from = owner ?? await createAgent("owner");
  const to_tag = newTag();
  const [leaver, stayer] = [await createAgent("leaver"), await createAgent("stayer")];
  for (const agent of [leaver, stayer]) await setTags(agent, to_tag);
  const artifact = await publish(from, { key: "shared", content: "for all" });
  const given = await grant(from, artifact, { to_tag, max_downloads: 10 });
  await open(leaver, artifact);
  return { from, to_tag, leaver, stayer, artifact, ...given };
}

type Shared = Awaited<ReturnType<typeof shared>>;

/** Asserts that the grant still works for the remaining agent, and keeps its count. */
async function assertStays({ stayer, artifact, grant_id, from }: Shared): Promise<void> {
  assert.deepEqual(await inboxIds(stayer), [grant_id]);
  assert.equal((await open(stayer, artifact)).status, 200);
  const { body } = await post<{ grants: { downloads: number; to_tag: string }[] }>(
    "/agent-artifacts/grants",
    { as: from },
  );
  assert.deepEqual(body.grants.map(({ downloads }) => downloads), [2]);
}

/** Asserts that neither the tag nor the token gives access any more. */
async function assertEnded({ leaver, stayer, artifact, token }: Shared): Promise<void> {
  for (const agent of [leaver, stayer]) {
    assert.deepEqual(await inbox(agent), []);
    assertError(await open(agent, artifact), 404, "artifact_not_found");
  }
  assert.notEqual((await redeem(token)).status, 200);
}

const erase = ({ id }: Agent) => runTask("agentops agent erase", { args: [id, "--confirm", id] });

const ENDS: Readonly<Record<string, (agent: Agent) => Promise<unknown>>> = {
  "remove_agent": ({ id }) => operatorRpc("remove_agent", { agent_id: id }),
  "/leave": (agent) => post("/agent-mesh/leave", { as: agent }),
  "agent erase": async (agent) => assert.equal((await erase(agent)).code, 0),
};

for (const [what, end] of Object.entries(ENDS)) {
  Deno.test(`${what} of an agent that has a tag → the grant to the tag stays for the others, with its count`, async () => {
    const given = await shared();
    await end(given.leaver);
    await assertStays(given);
    assertError(await open(given.leaver, given.artifact), 401, "unauthenticated");
    if (what === "agent erase") assert.deepEqual(await columnsWith(given.leaver.id), []);
  });
}

for (const [what, end] of Object.entries(ENDS)) {
  // Grants of an agent that has left continue.
  if (what === "/leave") continue;
  Deno.test(`${what} of an agent that granted to a tag → nobody with the tag has access any more`, async () => {
    const given = await shared();
    const bystander = await shared();
    await end(given.from);
    await assertEnded(given);
    await assertStays(bystander);
    if (what === "agent erase") assert.deepEqual(await columnsWith(given.from.id), []);
    else {
      const ended = await eventsOf("grant.revoked", { agent_id: given.from.id });
      assert.deepEqual(
        ended.map((event) => [event["grant_id"], event["to_tag"], event["key"]]),
        [[given.grant_id, given.to_tag, given.artifact.key]],
      );
    }
  });
}

Deno.test("an enrolment revoked with undo_grants → also the grants that its agents gave to a tag", async () => {
  const { enrolment_key, enrolment_id } = await put({ uses_left: null });
  const given = await shared(agentOf(await enrol({ enrolment_key, agent_name: newName("giver") })));
  const bystander = await shared();
  assert.equal((await revokeAll(enrolment_id, { undo_grants: true })).grants, 1);
  await assertEnded(given);
  await assertStays(bystander);
});

Deno.test("a signed-in user whose agent has a tag → the grant is in its inbox and opens; without the tag, neither", async () => {
  const given = await shared();
  const user = await signIn(newUser("person"));
  await setTags(user, given.to_tag);
  assert.deepEqual(await inboxIds(user), [given.grant_id]);
  assert.equal((await open(user, given.artifact)).status, 200);
  await setTags(user);
  assert.deepEqual(await inbox(user), []);
  assertError(await open(user, given.artifact), 404, "artifact_not_found");
  await operatorRpc("remove_agent", { agent_id: user.id });
});

Deno.test("fsck beside grants to tags that are live, used up and revoked → nothing to repair, and they are what they were", async () => {
  const live = await shared();
  const usedUp = await shared();
  for (let times = 1; times < 10; times++) await open(usedUp.stayer, usedUp.artifact);
  const revoked = await shared();
  await post("/agent-artifacts/revoke", {
    as: revoked.from,
    body: { artifact_id: revoked.artifact.artifact_id, to_tag: revoked.to_tag },
  });
  const { code, output, errors } = await runTask("agentops fsck", { args: ["--json"] });
  assert.equal(code, 0, `${output} ${errors}`);
  await assertStays(live);
  assert.deepEqual(await inbox(usedUp.stayer), []);
  await assertEnded(revoked);
});

Deno.test("trace of a grant to a tag, of its file and of who has the tag → says the tag, and who opened it", async () => {
  const { grant_id, artifact, to_tag, leaver } = await shared();
  const trace = async (...args: string[]) => {
    const { code, output, errors } = await runTask("agentops trace", { args });
    assert.equal(code, 0, errors);
    return output;
  };
  assert.ok((await trace(grant_id)).includes(`to_tag=${to_tag}`));
  const ofFile = await trace(artifact.artifact_id);
  assert.ok(ofFile.includes(`to_tag=${to_tag}`), ofFile);
  assert.ok(ofFile.includes(leaver.id), ofFile);
  const output = await trace(leaver.id, "--agent");
  assert.ok(output.match(/^tags +(.*)$/m)?.[1] === to_tag, output);
  assert.match(output, /^live grants +0 given, 1 received$/m);
});
