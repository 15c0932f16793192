/** Several keys of one agent: which of them are live, and which request ends which key. */
import assert from "node:assert/strict";
import {
  assertError,
  createAgent,
  endCreatedAgents,
  operatorRpc,
  post,
} from "../../conformance/client.ts";
import { assertUnauthenticated } from "../../conformance/credentials.ts";
import {
  agentOf,
  endMadeEnrolments,
  enrol,
  type Enrolled,
  newName,
  put,
  use,
  whoami,
} from "../../conformance/enrolment/enrolments.ts";
import { withStackDatabase } from "../connection.ts";

Deno.test.afterEach(async () => {
  await endMadeEnrolments();
  await endCreatedAgents();
});

/** `enrol` enrols the same agent each time. */
async function newMachine(fields: Parameters<typeof put>[0] = {}) {
  const { enrolment_key } = await put({ uses_left: null, ...fields });
  const agent_name = newName("vm");
  return {
    agent_name,
    enrol: (by = "agent-artifacts") => enrol({ enrolment_key, agent_name }, { by }),
  };
}

async function statuses(...keys: readonly Enrolled[]): Promise<(number | string)[]> {
  const answers = await Promise.all(keys.map((key) => whoami(key)));
  return answers.map(({ status, body }) =>
    status === 200 ? 200 : (body["error"] as { code: string }).code
  );
}

function endSession({ key_id }: Enrolled): Promise<unknown> {
  return withStackDatabase((sql) =>
    sql`update agents.keys set expires_at = now() - interval '1 second' where key_id = ${key_id}`
  );
}

Deno.test("two generations that were never used over one that is → each takes the place of the unused one, and the used one works on", async () => {
  const machine = await newMachine();
  const first = await machine.enrol();
  await use(first);
  const second = await machine.enrol("agent-mesh");
  const third = await machine.enrol();
  // The third key replaced the second, which was never used.
  assert.deepEqual(await statuses(second), ["superseded"]);
  assert.deepEqual(await statuses(first), [200]);
  await use(third);
  assert.deepEqual(await statuses(first, second, third), ["superseded", "superseded", 200]);
  assert.equal(third.generation, 3);
});

Deno.test("a new generation that is never used → the key before lasts until its own end, and the next generation follows", async () => {
  const machine = await newMachine();
  const first = await machine.enrol();
  await use(first);
  const never = await machine.enrol();
  await endSession(never);
  assert.deepEqual(await statuses(first, never), [200, "unauthenticated"]);
  await endSession(first);
  assert.deepEqual(await statuses(first), ["unauthenticated"]);
  const next = await machine.enrol();
  assert.equal(next.generation, 3);
  assert.deepEqual(await statuses(next), [200]);
});

Deno.test("a key whose session ends before the new one is used → the new one works, and one key lives", async () => {
  const machine = await newMachine();
  const first = await machine.enrol();
  await use(first);
  const second = await machine.enrol();
  await endSession(first);
  assert.deepEqual(await statuses(first, second), ["unauthenticated", 200]);
  const { body } = await operatorRpc<{ live_keys: number }>("read_agent", {
    agent_id: machine.agent_name,
  });
  assert.equal(body.live_keys, 1);
});

Deno.test("the first use at one function → the key before is superseded at the other one, which knows it, and where it waits", async () => {
  const machine = await newMachine();
  const first = await machine.enrol();
  for (const name of ["agent-artifacts", "agent-mesh"]) {
    const { status } = await post(`/${name}/events`, { as: agentOf(first) });
    assert.equal(status, 200);
  }
  const { body } = await post(`/agent-artifacts/inbox`, { as: agentOf(first) });
  const waiting = post("/agent-artifacts/inbox", {
    as: agentOf(first),
    body: { after: body["latest"], wait_seconds: 2 },
  });
  const second = await machine.enrol();
  const { status } = await post("/agent-mesh/events", { as: agentOf(second) });
  assert.equal(status, 200);
  for (const name of ["agent-artifacts", "agent-mesh"]) {
    assertError(await post(`/${name}/events`, { as: agentOf(first) }), 401, "superseded");
  }
  assertError(await waiting, 401, "superseded");
});

Deno.test("/leave by a superseded key → nothing ends; by a key that is not yet superseded → every generation ends", async () => {
  const machine = await newMachine();
  const first = await machine.enrol();
  await use(first);
  const second = await machine.enrol();
  await use(second);
  assertError(await post("/agent-artifacts/leave", { as: agentOf(first) }), 401, "superseded");
  assert.deepEqual(await statuses(second), [200]);
  const third = await machine.enrol();
  const { status } = await post("/agent-artifacts/leave", { as: agentOf(second) });
  assert.equal(status, 200);
  for (const key of [second, third]) assertUnauthenticated(await whoami(key));
  assert.deepEqual(await statuses(first), ["superseded"]);
});

Deno.test("a key that the operator made for the same agent → neither ended by a new generation nor ends one", async () => {
  const planner = await createAgent("planner");
  const { enrolment_key } = await put({ agent_id: planner.id, uses_left: null });
  const keys: Enrolled[] = [];
  for (let generation = 0; generation < 3; generation++) {
    keys.push(await enrol({ enrolment_key }));
    await use(keys.at(-1)!);
    assert.equal((await whoami(planner)).status, 200);
  }
  assert.deepEqual(await statuses(...keys), ["superseded", "superseded", 200]);
});

interface Key {
  readonly key_id: string;
  readonly generation: number;
  readonly used: boolean;
}

function liveKeys(agent_id: string): Promise<Key[]> {
  return withStackDatabase((sql) =>
    sql<Key[]>`
      select key_id, generation, first_used_at is not null as used from agents.keys
      where agent_id = ${agent_id} and revoked_at is null and expires_at > now()
      order by generation`
  );
}

Deno.test("four machines that enrol as one agent and use their keys at once, 25 times each → at most one used key and one newer live, and no answer but 200 and superseded", async () => {
  const { agent_name, enrol } = await newMachine();
  const answers = new Set<number | string>();
  const clone = async (number: number) => {
    for (let round = 0; round < 25; round++) {
      const key = await enrol(["agent-artifacts", "agent-mesh"][(round + number) % 2]!);
      for (const answer of await statuses(key, key)) answers.add(answer);
    }
  };
  await Promise.all([0, 1, 2, 3].map(clone));
  assert.deepEqual([...answers].map(String).sort(), ["200", "superseded"]);
  const live = await liveKeys(agent_name);
  assert.ok(live.length >= 1 && live.length <= 2, JSON.stringify(live));
  assert.equal(live.filter(({ used }) => used).length <= 1, true, JSON.stringify(live));
  if (live.length === 2) assert.deepEqual(live.map(({ used }) => used), [true, false]);
  const last = await enrol();
  assert.equal(last.generation, 101);
  await use(last);
  assert.deepEqual((await liveKeys(agent_name)).map(({ key_id }) => key_id), [last.key_id]);
});
