/** A thousand machines that enrol at once with one enrolment key, and lose their access at once. */
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
import { quantile, watch, type Watched } from "./watch.ts";

const MACHINES = 1_000;
const FUNCTIONS = ["agent-artifacts", "agent-mesh"];
/** How long a transaction may hold a lock that others need: about ten times the normal time. */
const MOST_HELD_SECONDS = 1;

Deno.test.afterEach(async () => {
  await endMadeEnrolments();
  await endCreatedAgents();
});

/** Enrols as a client does: it retries after temporary errors. */
async function enrolPatiently(
  proof: { enrolment_key: string; agent_name: string },
  by: string,
) {
  for (let attempt = 0; attempt < 200; attempt++) {
    const { status, body } = await tryEnrol(proof, { by });
    if (status === 200) return body;
    assert.ok([429, 503].includes(status), JSON.stringify(body));
    await sleep(100 + Math.random() * 400);
  }
  throw new Error("an enrolment was refused 200 times");
}

async function deadlocks(): Promise<number> {
  const [row] = await withStackDatabase((sql) =>
    sql<{ deadlocks: number }[]>`select sum(deadlocks)::int deadlocks from pg_stat_database`
  );
  return row!.deadlocks;
}

async function watchFor(duration: number, bystander: Agent): Promise<Watched> {
  const watched = watch(bystander);
  await sleep(duration);
  return await watched();
}

function ratio(busy: Watched, quiet: Watched, share: number): string {
  return (quantile(busy.milliseconds, share) / quantile(quiet.milliseconds, share)).toFixed(2);
}

function milliseconds(seconds: number): number {
  return Math.round(seconds * 1000);
}

Deno.test(`${MACHINES} enrolments at once by one key → ${MACHINES} agents, without a deadlock or a long lock; revoked → no key of theirs works`, async () => {
  const bystander = await createAgent("bystander");
  const before = await deadlocks();
  // Warm up: the first requests are slower than later ones.
  await watchFor(500, bystander);
  const quiet = await watchFor(2_000, bystander);

  const { enrolment_key, enrolment_id } = await put({ uses_left: null });
  const busy = watch(bystander);
  const startedAt = performance.now();
  const enrolled: Enrolled[] = await Promise.all(
    Array.from(
      { length: MACHINES },
      // Half of the requests go to each function. The two processes share no state.
      (_, index) =>
        enrolPatiently(
          { enrolment_key, agent_name: newName("machine") },
          FUNCTIONS[index % FUNCTIONS.length]!,
        ),
    ),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  const rush = await busy();
  assert.equal(new Set(enrolled.map(({ agent_id }) => agent_id)).size, MACHINES);
  assert.equal(await deadlocks(), before);
  assert.ok(rush.holders > 0);
  assert.ok(rush.longestHold < MOST_HELD_SECONDS, `held for ${rush.longestHold} s`);
  // `lock_timeout` ends the requests that wait longer.
  assert.ok(rush.longestWait < 1.5, `${rush.longestWait} s`);
  console.log(
    `${MACHINES} enrolled in ${seconds.toFixed(1)} s; a bystander's request took ` +
      `${ratio(rush, quiet, 0.5)} × as long (median; 95th percentile: ` +
      `${ratio(rush, quiet, 0.95)} ×); of ${rush.holders} transactions seen to hold a lock, the ` +
      `longest was ${milliseconds(rush.longestHold)} ms old; the longest wait for a lock was ` +
      `${milliseconds(rush.longestWait)} ms`,
  );

  for (const agent of enrolled.slice(0, 100)) assert.equal((await whoami(agent)).status, 200);
  const revokedAt = performance.now();
  const revoking = watch(bystander);
  const sums = await revokeAll(enrolment_id);
  const end = await revoking();
  assert.ok(end.longestHold < MOST_HELD_SECONDS, `held for ${end.longestHold} s`);
  console.log(
    `revoked in ${((performance.now() - revokedAt) / 1000).toFixed(1)} s; a bystander's request ` +
      `took ${ratio(end, quiet, 0.5)} × as long; the oldest transaction that held a lock was ` +
      `${milliseconds(end.longestHold)} ms old`,
  );
  assert.deepEqual([sums.agents, sums.keys], [MACHINES, MACHINES]);
  for (const agent of enrolled) assert.equal((await whoami(agent)).status, 401);
  const [left] = await withStackDatabase((sql) =>
    sql<{ live: number }[]>`
      select count(*)::int live from agents.keys
      where enrolment_id = ${enrolment_id} and revoked_at is null and expires_at > now()`
  );
  assert.equal(left!.live, 0);
});
