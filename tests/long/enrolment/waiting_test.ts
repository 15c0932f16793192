/** Ephemeral agents that only wait, for as long as a request may wait. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { endCreatedAgents, post } from "../../conformance/client.ts";
import {
  agentOf,
  endMadeEnrolments,
  type Enrolled,
  use,
  whoami,
} from "../../conformance/enrolment/enrolments.ts";
import { join, netmapOf } from "../../conformance/mesh_cast.ts";
import { withStackDatabase } from "../../database/connection.ts";
import { goBack, newEphemeral, sweep } from "../../database/enrolment/idle.ts";

const WAIT_SECONDS = 140;

Deno.test.afterEach(async () => {
  await endMadeEnrolments();
  await endCreatedAgents();
});

/** The last use of an agent key that the database has; null if it has none. */
async function writtenUse({ key_id }: Enrolled): Promise<Date | null> {
  const [row] = await withStackDatabase((sql) =>
    sql<{ last_used_at: Date }[]>`
      select last_used_at from agents.key_uses where key_id = ${key_id}`
  );
  return row?.last_used_at ?? null;
}

Deno.test(`ephemeral agents that were idle for as long as they may, then wait for ${WAIT_SECONDS} seconds → the sweep leaves them alone meanwhile, and ends them when they were idle for longer`, async () => {
  const [reader, peer] = [await newEphemeral("reader"), await newEphemeral("peer")];
  const agents = [reader, peer];
  await Promise.all(agents.map(use));
  await join(agentOf(peer));
  const { body } = await post("/agent-artifacts/inbox", { as: agentOf(reader) });
  const { config_version } = await netmapOf(agentOf(peer));
  // This also moves the recorded earlier uses back in time.
  for (const agent of agents) await goBack(agent, 300);

  let isOver = false;
  const startedAt = new Date();
  const waiting = Promise.all([
    post("/agent-artifacts/wait", {
      as: agentOf(reader),
      body: { inbox_after: body["latest"], wait_seconds: WAIT_SECONDS },
    }),
    post("/agent-mesh/wait", {
      as: agentOf(peer),
      body: { config_version, wait_seconds: WAIT_SECONDS },
    }),
  ]).finally(() => isOver = true);
  let sweeps = 0;
  while (!isOver) {
    // Make the agents due again, whatever the last sweep noted.
    for (const agent of agents) await goBack(agent, 0);
    assert.equal(await sweep(), 0);
    sweeps++;
    await sleep(3_000);
  }
  const answers = await waiting;
  assert.deepEqual(answers.map(({ status }) => status), [200, 200]);
  assert.equal((answers[0].body["inbox"] as { changed: boolean }).changed, false);
  assert.equal(answers[1].body["config_version"], config_version);
  assert.ok(sweeps > 5);
  for (const agent of agents) await goBack(agent, 0);
  assert.equal(await sweep(), 0);

  // The wait counts as a use. It is written some time after it ended.
  while (!((await writtenUse(reader) ?? startedAt) > startedAt)) await sleep(1_000);
  for (const agent of agents) await goBack(agent, 0);
  assert.equal(await sweep(), 0);
  for (const agent of agents) await goBack(agent, 1_000);
  assert.equal(await sweep(), 2);
  for (const agent of agents) assert.equal((await whoami(agent)).status, 401);
});
