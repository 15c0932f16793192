/** Ephemeral agents that the sweep removes, and agents that restart again and again. */
import assert from "node:assert/strict";
import { grant, inbox, publish } from "../../conformance/artifacts.ts";
import { createAgent, endCreatedAgents } from "../../conformance/client.ts";
import {
  agentOf,
  endMadeEnrolments,
  enrol,
  eventsOf,
  newName,
  put,
  use,
  whoami,
} from "../../conformance/enrolment/enrolments.ts";
import {
  agree,
  heartbeat,
  idsIn,
  join,
  netmapOf,
  ruleBetween,
} from "../../conformance/mesh_cast.ts";
import { startOwnFunction } from "../../own_function/own_function.ts";
import { withStackDatabase } from "../connection.ts";
import { goBack, markUsed, newEphemeral, sweep, type Swept } from "./idle.ts";

Deno.test.afterEach(async () => {
  await endMadeEnrolments();
  await endCreatedAgents();
});

Deno.test("an ephemeral agent → it stays while it has contact of any kind, and is gone once it had none for so long", async () => {
  const agent = await newEphemeral("brief");
  await use(agent);
  const peer = await createAgent("peer");
  const own = agentOf(agent);
  await join(own);
  await join(peer);
  await agree(ruleBetween(own, peer));
  const reader = await createAgent("reader");
  await grant(own, await publish(own), { to: reader });

  // Idle for less than ephemeral_seconds plus the slack.
  await goBack(agent, 500);
  await sweep();
  assert.equal((await whoami(agent)).status, 200);
  for (
    const contact of [
      () =>
        withStackDatabase((sql) =>
          sql`insert into agents.key_uses (key_id, last_used_at) values (${agent.key_id}, now())
          on conflict (key_id) do update set last_used_at = now()`
        ),
      () => heartbeat(own),
    ]
  ) {
    await goBack(agent, 1_000);
    await contact();
    await sweep();
    assert.equal((await whoami(agent)).status, 200);
    assert.deepEqual(idsIn(await netmapOf(peer)).includes(own.id), true);
  }

  let removed = 0;
  // Retry once, because a function may meanwhile have written the use of the key above.
  for (let attempt = 0; attempt < 2 && removed === 0; attempt++) {
    await goBack(agent, 1_000);
    removed = await sweep();
  }
  assert.equal(removed, 1);
  assert.equal((await whoami(agent)).status, 401);
  assert.deepEqual(idsIn(await netmapOf(peer)), [peer.id]);
  assert.equal((await rulesOf(own.id)).length, 0);
  assert.equal((await inbox(reader)).length, 1, "what it gave away stays");
  assert.equal((await eventsOf("agent.expired", { agent_id: own.id })).length, 1);
  assert.equal(await sweep(), 0);
});

Deno.test("an ephemeral agent that was enrolled and never came → gone; one that is not ephemeral → stays", async () => {
  const never = await newEphemeral("never");
  await goBack(never, 541);
  const { enrolment_key } = await put({ uses_left: null });
  const lasting = await enrol({ enrolment_key, agent_name: newName("lasting") });
  await use(lasting);
  await goBack(lasting, 100_000);
  await sweep();
  assert.equal((await whoami(never)).status, 401);
  assert.equal((await whoami(lasting)).status, 200);
});

Deno.test("uses that are written every ten minutes, or never → nobody is removed who may have used a key since", async () => {
  const slow = await startOwnFunction({ environment: { USAGE_WRITE_SECONDS: "600" } });
  const never = await startOwnFunction({ environment: { USAGE_WRITE_SECONDS: "0" } });
  await using _ends = new AsyncDisposableStack();
  _ends.use(slow);
  _ends.use(never);
  const sweepBy = (one: typeof slow) =>
    sweep(async () => (await one.post<Swept>("/sweep", { as: "operator", body: {} })).body);
  const agent = await newEphemeral("unwritten");
  await markUsed(agent);
  // The limit is 1,080 s: 300 s without contact, 180 s for a waiting request, and 600 s until the
  // key's use is written.
  await goBack(agent, 1_000);
  assert.equal(await sweepBy(slow), 0);
  await goBack(agent, 1_000);
  assert.equal(await sweepBy(never), 0);
  assert.equal((await never.post("/list", { as: agentOf(agent), body: {} })).status, 200);
  await goBack(agent, 0);
  assert.equal(await sweepBy(slow), 1);

  const ended = await newEphemeral("ended");
  await markUsed(ended);
  await goBack(ended, 1_000);
  await withStackDatabase((sql) =>
    sql`update agents.keys set expires_at = now() - interval '1000 seconds'
      where key_id = ${ended.key_id}`
  );
  assert.equal(await sweepBy(never), 1);
});

Deno.test("more idle agents than a call ends → it says that some remain, and the next calls end them", async () => {
  const { enrolment_key } = await put({ ephemeral_seconds: 300, uses_left: null });
  const idle = await Promise.all(
    Array.from({ length: 3 }, () => enrol({ enrolment_key, agent_name: newName("idle") })),
  );
  for (const agent of idle) await goBack(agent, 1_000);
  const { idle: listed, remaining } = await withStackDatabase(async (sql) => {
    const [row] = await sql<{ answer: { idle: string[]; remaining: number } }[]>`
      select agent_api_forget_enrolled('{"kind": "operator"}', 2) as answer`;
    return row!.answer;
  });
  assert.deepEqual([listed.length, remaining], [2, 1]);
  assert.equal(await sweep(), 3);
});

Deno.test("a heartbeat beside the sweep that ends the agent, 20 times → it has ended altogether, or not at all", async () => {
  const outcomes: string[] = [];
  for (let round = 0; round < 20; round++) {
    const agent = await newEphemeral("racer");
    const own = agentOf(agent);
    await use(agent);
    await join(own);
    await goBack(agent, 1_000);
    const [, beat] = await Promise.all([
      sweep(),
      heartbeat(own).then(() => "beat", () => "refused"),
    ]);
    const { status } = await whoami(agent);
    const [{ peers, keys } = {}] = await withStackDatabase((sql) =>
      sql<{ peers: number; keys: number }[]>`
        select (select count(*)::int from mesh.peers where agent_id = ${own.id}) peers,
          (select count(*)::int from agents.keys
            where agent_id = ${own.id} and revoked_at is null) keys`
    );
    assert.deepEqual([peers, keys], status === 200 ? [1, 1] : [0, 0]);
    outcomes.push(`${beat} ${status}`);
  }
  assert.ok(outcomes.every((outcome) => /^(beat|refused) (200|401)$/.test(outcome)));
});

function rulesOf(agent_id: string) {
  return withStackDatabase((sql) =>
    sql<{ port: number }[]>`
      select port from mesh.rules
      where to_agent = ${agent_id} and active
      order by port`
  );
}

for (const ephemeral_seconds of [null, 300]) {
  const kind = ephemeral_seconds === null ? "lasting" : "ephemeral";
  Deno.test(`an agent restarted 20 times, ${kind} → the same addresses, every rule, one live key`, async () => {
    const { enrolment_key } = await put({ uses_left: null, ephemeral_seconds });
    const agent_name = newName("restarted");
    const first = await enrol({ enrolment_key, agent_name });
    await use(first);
    const peer = await createAgent("peer");
    await join(peer);
    const { addresses, pubkey } = await join(agentOf(first));
    for (const port of [22, 443]) await agree({ ...ruleBetween(peer, agentOf(first)), port });
    let last = first;
    for (let restart = 0; restart < 20; restart++) {
      last = await enrol({ enrolment_key, agent_name });
      const again = await join(agentOf(last), { pubkey });
      assert.deepEqual(again.addresses, addresses);
    }
    assert.equal(last.generation, 21);
    const ports = (await rulesOf(agent_name)).map(({ port }) => port);
    assert.deepEqual(ports, [22, 443]);
    const [counts] = await withStackDatabase((sql) =>
      sql<{ live: number }[]>`
        select count(*)::int live from agents.keys
        where agent_id = ${agent_name} and revoked_at is null and superseded_at is null
          and expires_at > now()`
    );
    assert.equal(counts!.live, 1);
    assert.equal((await whoami(first)).status, 401);
  });
}
