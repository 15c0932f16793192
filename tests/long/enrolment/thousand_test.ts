/** A thousand machines that start at once, by one enrolment key, and are cut off at once. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { type Agent, createAgent, endCreatedAgents } from "../../conformance/client.ts";
import {
  endMadeEnrolments,
  type Enrolled,
  newName,
  put,
  revokeAll,
  tryEnrol,
  whoami,
} from "../../conformance/enrolment/enrolments.ts";
import { withStackDatabase } from "../../database/connection.ts";

const MACHINES = 1_000;

Deno.test.afterEach(async () => {
  await endMadeEnrolments();
  await endCreatedAgents();
});

/** As a client does: what is temporary is asked again. */
async function enrolPatiently(proof: { enrolment_key: string; agent_name: string }) {
  for (let attempt = 0; attempt < 200; attempt++) {
    const { status, body } = await tryEnrol(proof);
    if (status === 200) return body;
    assert.ok([429, 503].includes(status), JSON.stringify(body));
    await sleep(100 + Math.random() * 400);
  }
  throw new Error("an enrolment was refused 200 times");
}

/** Until it is stopped: how long a bystander's requests take, and how long locks are waited for. */
function watch(bystander: Agent) {
  let isOver = false;
  const milliseconds: number[] = [];
  let longestWait = 0;
  const asking = (async () => {
    while (!isOver) {
      const startedAt = performance.now();
      assert.equal((await whoami(bystander)).status, 200);
      milliseconds.push(performance.now() - startedAt);
      await sleep(20);
    }
  })();
  const looking = withStackDatabase(async (sql) => {
    while (!isOver) {
      const [row] = await sql<{ waited: number | null }[]>`
        select max(extract(epoch from clock_timestamp() - waitstart))::float8 as waited
        from pg_locks where not granted`;
      longestWait = Math.max(longestWait, row!.waited ?? 0);
      await sleep(25);
    }
  });
  return async () => {
    isOver = true;
    await Promise.all([asking, looking]);
    milliseconds.sort((one, other) => one - other);
    return { median: milliseconds[Math.floor(milliseconds.length / 2)]!, longestWait };
  };
}

async function deadlocks(): Promise<number> {
  const [row] = await withStackDatabase((sql) =>
    sql<{ deadlocks: number }[]>`select sum(deadlocks)::int deadlocks from pg_stat_database`
  );
  return row!.deadlocks;
}

Deno.test(`${MACHINES} enrolments at once by one key → ${MACHINES} agents, without a deadlock or a long lock; revoked → no key of theirs works`, async () => {
  const bystander = await createAgent("bystander");
  const before = await deadlocks();
  const alone = watch(bystander);
  await sleep(2_000);
  const quiet = await alone();

  const { enrolment_key, enrolment_id } = await put({ uses_left: null });
  const busy = watch(bystander);
  const startedAt = performance.now();
  const enrolled: Enrolled[] = await Promise.all(
    Array.from(
      { length: MACHINES },
      () => enrolPatiently({ enrolment_key, agent_name: newName("machine") }),
    ),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  const { median, longestWait } = await busy();
  assert.equal(new Set(enrolled.map(({ agent_id }) => agent_id)).size, MACHINES);
  assert.equal(await deadlocks(), before);
  // `lock_timeout`: whoever waits longer is sent away.
  assert.ok(longestWait < 1.5, `${longestWait} s`);
  console.log(
    `${MACHINES} enrolled in ${seconds.toFixed(1)} s; a bystander's request took ` +
      `${(median / quiet.median).toFixed(2)} × as long (median); the longest wait for a lock was ` +
      `${Math.round(longestWait * 1000)} ms`,
  );

  for (const agent of enrolled.slice(0, 100)) assert.equal((await whoami(agent)).status, 200);
  const revokedAt = performance.now();
  const sums = await revokeAll(enrolment_id);
  console.log(`revoked in ${((performance.now() - revokedAt) / 1000).toFixed(1)} s`);
  assert.deepEqual([sums.agents, sums.keys], [MACHINES, MACHINES]);
  for (const agent of enrolled) assert.equal((await whoami(agent)).status, 401);
  const [left] = await withStackDatabase((sql) =>
    sql<{ live: number }[]>`
      select count(*)::int live from agents.keys
      where enrolment_id = ${enrolment_id} and revoked_at is null and expires_at > now()`
  );
  assert.equal(left!.live, 0);
});
