/** Several instances of one agent, each with its own agent keys. */
import assert from "node:assert/strict";
import { assertError, assertInvalid, endCreatedAgents, post } from "../../conformance/client.ts";
import {
  agentOf,
  endMadeEnrolments,
  enrol,
  type Enrolled,
  eventsOf,
  newName,
  put,
  tryEnrol,
  whoami,
} from "../../conformance/enrolment/enrolments.ts";
import { Issuer } from "../../conformance/enrolment/issuer.ts";
import { operatorRpc } from "../../conformance/client.ts";
import { assertUnauthenticated } from "../../conformance/credentials.ts";
import { withStackDatabase } from "../connection.ts";

Deno.test.afterEach(async () => {
  await endMadeEnrolments();
  await endCreatedAgents();
});

/** `enrol` enrols an instance of the same agent each time. */
async function newAgent(fields: Parameters<typeof put>[0] = {}) {
  const { enrolment_key } = await put({ uses_left: null, ...fields });
  const agent_name = newName("vm");
  const proof = (instance?: string) => ({
    enrolment_key,
    agent_name,
    ...(instance !== undefined && { instance }),
  });
  return {
    agent_name,
    tryEnrol: (instance?: string) => tryEnrol(proof(instance)),
    enrol: (instance?: string) => enrol(proof(instance)),
  };
}

async function statuses(...keys: readonly Enrolled[]): Promise<(number | string)[]> {
  const answers: (number | string)[] = [];
  for (const key of keys) {
    const { status, body } = await whoami(key);
    answers.push(status === 200 ? 200 : (body["error"] as { code: string }).code);
  }
  return answers;
}

function endSession({ key_id }: Enrolled): Promise<unknown> {
  return withStackDatabase((sql) =>
    sql`update agents.keys set expires_at = now() - interval '1 second' where key_id = ${key_id}`
  );
}

Deno.test("three instances of one agent → each renews its own agent key, and no other's ends", async () => {
  const agent = await newAgent({ max_instances: 3 });
  const first = [await agent.enrol("a"), await agent.enrol("b"), await agent.enrol()];
  assert.deepEqual(first.map(({ generation }) => generation), [1, 1, 1]);
  assert.deepEqual(await statuses(...first), [200, 200, 200]);
  const second = await agent.enrol("b");
  assert.equal(second.generation, 2);
  assert.deepEqual(await statuses(second, ...first), [200, 200, "superseded", 200]);
  const third = await agent.enrol();
  assert.equal(third.generation, 2);
  assert.deepEqual(await statuses(third, second, ...first), [
    200,
    200,
    200,
    "superseded",
    "superseded",
  ]);
});

Deno.test("one more instance than an enrolment allows → limit_exceeded, the others work on; an ended one makes room", async () => {
  const agent = await newAgent({ max_instances: 2 });
  const [a, b] = [await agent.enrol("a"), await agent.enrol("b")];
  assert.deepEqual(await statuses(a, b), [200, 200]);
  for (const one of ["c", undefined]) {
    const refused = await agent.tryEnrol(one);
    assert.deepEqual(assertError(refused, 409, "limit_exceeded"), {
      limit: "instances",
      maximum: 2,
    });
  }
  assert.deepEqual(await statuses(a, b), [200, 200]);
  await endSession(a);
  const races = await Promise.all(["c", "d", "e"].map(agent.tryEnrol));
  assert.deepEqual(races.map(({ status }) => status).sort(), [200, 409, 409]);
  assert.deepEqual(await statuses(b), [200]);
});

Deno.test("an enrolment of one instance → the newest key wins, whatever the instance is called", async () => {
  const agent = await newAgent();
  const keys = [await agent.enrol("a")];
  assert.deepEqual(await statuses(keys[0]!), [200]);
  for (const instance of ["b", undefined, "a"]) {
    keys.push(await agent.enrol(instance));
    assert.deepEqual(await statuses(keys.at(-1)!), [200]);
  }
  assert.deepEqual(await statuses(...keys), ["superseded", "superseded", "superseded", 200]);
  assert.equal(keys.at(-1)!.generation, 4);
});

Deno.test("an answer of one instance is lost → its unused key is replaced, and no other's", async () => {
  const agent = await newAgent({ max_instances: 2, uses_left: 2 });
  const [lost, other] = [await agent.enrol("a"), await agent.enrol("b")];
  const again = await agent.enrol("a");
  assert.deepEqual(await statuses(again, other, lost), [200, 200, "superseded"]);
  assertError(await agent.tryEnrol("a"), 401, "enrolment_refused");
  assert.deepEqual(await statuses(again, other), [200, 200]);
});

Deno.test("a single-use token, sent again by another instance → token_replayed, and one key works", async () => {
  const issuer = await Issuer.create(`https://${newName("issuer")}.example.com`);
  await put({
    kind: "trust",
    issuer: issuer.url,
    audience: "us",
    jwks: issuer.jwks as never,
    conditions: [{ claim: "sub", prefix: "new-run-" }],
    agent_template: "{sub}",
    single_use_tokens: true,
    max_instances: 2,
  });
  const token = await issuer.sign({ aud: "us", sub: newName("run") });
  const one = await enrol({ token, instance: "a" });
  assertError(await tryEnrol({ token, instance: "b" }), 401, "token_replayed");
  assert.deepEqual(await statuses(one), [200]);
});

Deno.test("the instance is in the key's record, its events and /token; /leave ends every instance", async () => {
  const agent = await newAgent({ max_instances: 2 });
  const [a, b] = [await agent.enrol("web-1"), await agent.enrol("web_2")];
  assert.deepEqual(await statuses(a, b), [200, 200]);
  await statuses(await agent.enrol("web-1"));
  const { body } = await operatorRpc<{ keys: { key_id: string; instance: string | null }[] }>(
    "read_agent",
    { agent_id: agent.agent_name },
  );
  assert.equal(body.keys.find(({ key_id }) => key_id === b.key_id)!.instance, "web_2");
  for (
    const [type, instances] of [
      ["agent.enrolled", ["web-1", "web_2", "web-1"]],
      ["key.superseded", ["web-1"]],
    ] as const
  ) {
    const events = await eventsOf(type, { agent_id: agent.agent_name });
    assert.deepEqual(events.map(({ instance }) => instance), instances);
  }
  assert.equal((await post("/agent-mesh/leave", { as: agentOf(b) })).status, 200);
  assertUnauthenticated(await whoami(b));
});

Deno.test("an instance of 0 or 65 characters, or of others than letters, digits, _ and - → invalid_request", async () => {
  const agent = await newAgent({ max_instances: 2 });
  for (const instance of ["", "a".repeat(65), "a b", "a.b", "ä", "a\n"]) {
    assertInvalid(await agent.tryEnrol(instance), "instance");
  }
  assert.equal((await agent.enrol("a".repeat(64))).generation, 1);
});
