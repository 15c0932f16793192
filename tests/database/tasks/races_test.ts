/** Many takers race for the tasks of one agent, and of a tag. */
import assert from "node:assert/strict";
import { artifactTest, publish, secondsFromNow } from "../../conformance/artifacts.ts";
import { type Agent, createAgent, operatorRpc } from "../../conformance/client.ts";
import { newTag, setTags } from "../../conformance/tags/tagged.ts";
import { Random } from "../../seeds/random.ts";
import { withStackDatabase } from "../connection.ts";

const TASKS = 200;
const TAKERS = 64;
const OPERATOR = { kind: "operator", request_id: "race" };

interface Taken {
  readonly grant_id: string;
  readonly take_id: string;
}

/** Calls an SQL function as the operator, until no lock is in its way. */
// deno-lint-ignore no-explicit-any
async function call(name: string, parameters: any): Promise<any> {
  for (;;) {
    const { status, body } = await operatorRpc(name, { caller: OPERATOR, ...parameters });
    if (status === 200) return body;
    // As the functions do: a lock that was not free within a second, or a deadlock.
    assert.ok((body as { code?: string }).code === "55P03", JSON.stringify(body));
  }
}

async function giveTasks(artifact_id: string, grantee: object): Promise<void> {
  for (let given = 0; given < TASKS; given++) {
    await call("grant_artifact", {
      artifact_id,
      to_agent: null,
      expires_at: secondsFromNow(600),
      ...grantee,
      grant_id: `grant_${crypto.randomUUID().replaceAll("-", "")}`,
      token_hash: `${crypto.randomUUID()}${crypto.randomUUID()}`.replaceAll("-", ""),
      max_live_grants: 1000,
      max_attempts: 100,
    });
  }
}

/** Takes, and finishes, fails or forgets what it took, until everything is done. */
async function work(worker: Agent, held: Set<string>, done: Map<string, number>, seed: number) {
  const random = new Random(seed);
  while (done.size < TASKS) {
    // Of every ten takes, one lapses at once: its taker died.
    const dies = random.isOneIn(10);
    const { tasks } = await call("take_tasks", {
      agent_id: worker.id,
      max_entries: 1 + random.below(3),
      seconds: dies ? 0 : 300,
    }) as { tasks: Taken[] };
    if (dies) continue;
    for (const { grant_id } of tasks) {
      assert.equal(held.has(grant_id), false, `${grant_id} is held by two`);
      held.add(grant_id);
    }
    for (const { grant_id, take_id } of tasks) {
      held.delete(grant_id);
      if (random.isOneIn(5)) {
        await call("fail_task", { take_id, reason: "Again.", retry_after_seconds: 0 });
        continue;
      }
      await call("finish_task", { agent_id: worker.id, take_id, grant_id: null });
      done.set(grant_id, (done.get(grant_id) ?? 0) + 1);
    }
  }
}

async function race(workers: readonly Agent[]): Promise<void> {
  const held = new Set<string>();
  const done = new Map<string, number>();
  await Promise.all(
    Array.from(
      { length: TAKERS },
      (_, index) => work(workers[index % workers.length]!, held, done, index + 1),
    ),
  );
  assert.deepEqual([...new Set(done.values())], [1]);
  const states = await withStackDatabase((sql) =>
    sql`select state, count(*)::integer from artifacts.tasks
      where grant_id = any (${[...done.keys()]}) group by state`
  );
  assert.deepEqual([...states], [{ state: "done", count: TASKS }]);
}

artifactTest(
  `${TAKERS} takers of one agent race for ${TASKS} tasks, and some die → each is done once, none is held by two`,
  async ({ planner, builder }) => {
    const { artifact_id } = await publish(planner);
    await giveTasks(artifact_id, { to_agent: builder.id });
    await race([builder]);
  },
);

artifactTest(
  `${TAKERS} takers of four agents of a tag race for ${TASKS} tasks that one works on → the same`,
  async ({ planner }) => {
    const { artifact_id } = await publish(planner);
    const tag = newTag();
    const crew = await Promise.all([1, 2, 3, 4].map((index) => createAgent(`crew-${index}`)));
    await Promise.all(crew.map((agent) => setTags(agent, tag)));
    await giveTasks(artifact_id, { to_tag: tag, is_shared: true });
    await race(crew);
  },
);
