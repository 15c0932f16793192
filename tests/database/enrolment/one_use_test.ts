/** What somebody with a proof for one use can learn or get. */
import assert from "node:assert/strict";
import {
  assertError,
  createAgent,
  endCreatedAgents,
  operatorRpc,
} from "../../conformance/client.ts";
import {
  agentOf,
  endMadeEnrolments,
  enrol,
  eventsOf,
  newName,
  put,
  tryEnrol,
  use,
  whoami,
} from "../../conformance/enrolment/enrolments.ts";
import { join } from "../../conformance/mesh_cast.ts";
import { publish } from "../../conformance/artifacts.ts";
import { Issuer } from "../../conformance/enrolment/issuer.ts";
import { withStackDatabase } from "../connection.ts";

Deno.test.afterEach(async () => {
  await endMadeEnrolments();
  await endCreatedAgents();
});

/** Names that somebody has, one for each way in which a name can be taken. */
async function takenNames(): Promise<string[]> {
  const [keeper, sender, hosted] = [
    await createAgent("keeper"),
    await createAgent("sender"),
    await createAgent("hosted"),
  ];
  await publish(sender);
  await join(hosted);
  await operatorRpc("revoke_agent_keys", { agent_id: sender.id });
  const tagged = newName("tagged");
  await operatorRpc("set_agent_tags", { agent_id: tagged, tags: ["tag:eu"] });
  const { enrolment_key } = await put({ uses_left: null });
  const enrolled = newName("vm");
  await use(await enrol({ enrolment_key, agent_name: enrolled }));
  const removed = await createAgent("removed");
  await operatorRpc("remove_agent", { agent_id: removed.id });
  return [keeper.id, sender.id, hosted.id, tagged, enrolled, removed.id];
}

async function usesLeft(enrolment_id: string): Promise<number> {
  const [row] = await withStackDatabase((sql) =>
    sql<{ uses_left: number }[]>`
      select uses_left from agents.enrolments where enrolment_id = ${enrolment_id}`
  );
  return row!.uses_left;
}

Deno.test("a one-use enrolment key and a name that somebody has → enrolment_refused, and the use is spent: the next name is refused alike, taken or free", async () => {
  for (const taken of await takenNames()) {
    const { enrolment_key, enrolment_id } = await put();
    const guess = (agent_name: string) => tryEnrol({ enrolment_key, agent_name });
    const answers = [await guess(taken), await guess(taken), await guess(newName("free"))];
    for (const answer of answers) {
      assertError(answer, 401, "enrolment_refused");
      assert.deepEqual(
        { ...answer.body["error"] as object, request_id: "" },
        { ...answers[0]!.body["error"] as object, request_id: "" },
      );
    }
    assert.equal(await usesLeft(enrolment_id), 0);
    const reasons = (await eventsOf("enrolment.refused"))
      .filter((event) => event["enrolment_id"] === enrolment_id).map(({ reason }) => reason);
    assert.match(String(reasons[0]), /^agent_(name_taken|removed)$/);
    assert.deepEqual(reasons.slice(1), ["used_up", "used_up"]);
  }
});

Deno.test("a used-up enrolment key → the same refusal for a taken and a free name", async () => {
  const { enrolment_key } = await put();
  await use(await enrol({ enrolment_key, agent_name: newName("vm") }));
  const { id } = await createAgent("planner");
  for (const agent_name of [id, newName("free")]) {
    assertError(await tryEnrol({ enrolment_key, agent_name }), 401, "enrolment_refused");
  }
});

Deno.test("an enrolment key of three uses and three taken names → three uses are spent", async () => {
  const { enrolment_key, enrolment_id } = await put({ uses_left: 3 });
  const { id } = await createAgent("new-planner");
  for (const left of [2, 1, 0]) {
    assertError(await tryEnrol({ enrolment_key, agent_name: id }), 401, "enrolment_refused");
    assert.equal(await usesLeft(enrolment_id), left);
  }
  assertError(
    await tryEnrol({ enrolment_key, agent_name: newName("free") }),
    401,
    "enrolment_refused",
  );
});

Deno.test("an enrolment key for one named agent, which another enrolment holds → agent_name_taken, and no use is spent", async () => {
  const agent_id = newName("laptop");
  const one = await put({ agent_id, uses_left: null });
  await use(await enrol({ enrolment_key: one.enrolment_key }));
  const { enrolment_key, enrolment_id } = await put({ agent_id });
  assertError(await tryEnrol({ enrolment_key }), 409, "agent_name_taken");
  assert.equal(await usesLeft(enrolment_id), 1);
});

/** A proof that can be exchanged once, each time another. */
async function proofsOfOneUse() {
  const issuer = await Issuer.create(`https://${newName("issuer")}.example.com`);
  await put({
    kind: "trust",
    issuer: issuer.url,
    audience: "us",
    jwks: issuer.jwks as never,
    conditions: [{ claim: "sub", prefix: "new-run-" }],
    agent_template: "{sub}",
    single_use_tokens: true,
  });
  return {
    token: async () => ({ token: await issuer.sign({ aud: "us", sub: newName("run") }) }),
    "enrolment key": async () => ({
      enrolment_key: (await put()).enrolment_key,
      agent_name: newName("vm"),
    }),
  };
}

Deno.test("a proof of one use, sent twice before its first agent key is used, both keys used at once with a third attempt, 20 times → never do two keys answer", async () => {
  for (const [kind, proofOf] of Object.entries(await proofsOfOneUse())) {
    for (let round = 0; round < 20; round++) {
      const proof = await proofOf();
      const first = await enrol(proof);
      // The first use races with the second exchange.
      const [used, second] = await Promise.all([
        Promise.all([whoami(first), whoami(first), whoami(first)]),
        tryEnrol(proof),
      ]);
      const hasAnswered = used.some(({ status }) => status === 200);
      if (second.status === 200) {
        const { status } = await whoami(second.body);
        assert.deepEqual([kind, hasAnswered, status], [kind, false, 200]);
        assertError(await whoami(first), 401, "superseded");
      } else {
        assert.equal(second.status, 401, JSON.stringify(second.body));
        assert.equal((await whoami(first)).status, 200);
      }
    }
  }
});

Deno.test("a proof of one use, sent twice, and the first agent key is used before its first use was recorded → the second exchange is refused", async () => {
  for (const [kind, proofOf] of Object.entries(await proofsOfOneUse())) {
    const proof = await proofOf();
    const first = await enrol(proof);
    const caller = { kind: "agent", key_hash: await hashOf(first.key), request_id: "test" };
    // As a function that ended between an answer and its call of note_first_use.
    const { status } = await operatorRpc("describe_caller", { caller });
    const { status: exchanged, body } = await tryEnrol(proof);
    const answered = [
      status === 200,
      exchanged === 200 && (await whoami(body)).status === 200,
    ];
    assert.equal(answered.filter(Boolean).length, 1, `${kind}: ${answered}`);
  }
});

async function hashOf(key: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

Deno.test("an agent key from a proof of one use → its first request is answered like every other", async () => {
  for (const proofOf of Object.values(await proofsOfOneUse())) {
    const one = await enrol(await proofOf());
    const artifact = await publish(agentOf(one));
    assert.equal(artifact.agent_id, one.agent_id);
    const [row] = await withStackDatabase((sql) =>
      sql`select first_used_at from agents.keys where key_id = ${one.key_id}`
    );
    assert.notEqual(row!["first_used_at"], null);
  }
});
