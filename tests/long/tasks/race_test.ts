/** A crowd takes tasks while every part of the service is killed. `TASK_COUNT`: how many tasks. */
import assert from "node:assert/strict";
import postgres from "postgres";
import {
  launch,
  openStateDirectory,
  readEnvironment,
} from "../../../packages/local/tests/stack/stack_process.ts";
import type { Agent, JsonObject } from "../../conformance/client.ts";
import { checkHistory } from "../../histories/checker/check_history.ts";
import { killInTurn, type Target } from "../../histories/kills.ts";
import { Recorder } from "../../histories/recorder.ts";
import { chosenSeed, Random } from "../../seeds/random.ts";
import { type Crowd, handOver, Outcomes, outOfOrder, takeUntilDone } from "./crowd.ts";

const TASKS = Number(Deno.env.get("TASK_COUNT") ?? 200);
const TAKERS = 64;
const WORKERS = 4;
const TAG = "tag:crew";
const MILLISECONDS_BETWEEN_KILLS = 3_000;

async function assemble(url: string, secretKey: string): Promise<Crowd> {
  const call = async (name: string, parameters: JsonObject) => {
    const response = await fetch(`${url}/rest/v1/rpc/agent_api_${name}`, {
      method: "POST",
      headers: { apikey: secretKey, "content-type": "application/json" },
      body: JSON.stringify(parameters),
    });
    const text = await response.text();
    assert.ok(response.ok, text);
    return text === "" ? {} : JSON.parse(text) as JsonObject;
  };
  const agentOf = async (id: string): Promise<Agent> => {
    const { key, key_id } = await call("create_agent_key", { agent_id: id });
    return { id, key: String(key), keyId: String(key_id) };
  };
  const planner = await agentOf("planner");
  const workers: Agent[] = [];
  for (let index = 0; index < WORKERS; index += 1) {
    const worker = await agentOf(`crew-${index}`);
    await call("set_agent_tags", { agent_id: worker.id, tags: [TAG] });
    workers.push(worker);
  }
  return { recorder: new Recorder(url), planner, workers, tag: TAG };
}

/** What the database has of each task, and of what happened to it. */
async function recordedTasks(stateDir: string) {
  const { SUPABASE_SUPERUSER_DB_URL } = await readEnvironment(stateDir);
  const sql = postgres(SUPABASE_SUPERUSER_DB_URL!, { max: 1, onnotice: () => {} });
  try {
    return [
      ...await sql<
        { grant_id: string; state: string; attempt: number; counts: Record<string, number> }[]
      >`
        select t.grant_id, t.state, t.attempt, (
          select jsonb_object_agg(e.action, e.count) from (
            select e.action, count(*) from agents.events e
            where e.object_id = t.grant_id group by e.action
          ) e
        ) as counts
        from artifacts.tasks t`,
    ];
  } finally {
    await sql.end();
  }
}

Deno.test(`${TAKERS} takers race for ${TASKS} tasks while every part is killed → each is done once, none is held by two, every lapse counts`, async () => {
  const seed = chosenSeed();
  console.log(`SEED=${seed}`);
  const random = new Random(seed);
  await using state = await openStateDirectory();
  const target: Target = { stateDir: state.path, service: await launch({ stateDir: state.path }) };
  try {
    await target.service.ready();
    const { SUPABASE_SECRET_KEY } = await readEnvironment(state.path);
    const crowd = await assemble(target.service.url, SUPABASE_SECRET_KEY!);
    await handOver(crowd, TASKS);
    const outcomes = new Outcomes();
    const isOver = () => outcomes.done.size === TASKS;
    const takers = Array.from(
      { length: TAKERS },
      (_, index) =>
        takeUntilDone(crowd, crowd.workers[index % WORKERS]!, {
          outcomes,
          count: TASKS,
          random: random.fork(),
        }),
    );
    const pauseMilliseconds = MILLISECONDS_BETWEEN_KILLS;
    const kills = await killInTurn(target, { random: random.fork(), isOver, pauseMilliseconds });
    await Promise.all(takers);
    for (const [part, count] of kills) console.log(`  killed ${count} times: ${part}`);

    const { history } = crowd.recorder;
    assert.deepEqual(checkHistory(history).map(({ rule }) => rule), []);
    const { compared, wrong } = outOfOrder(history, outcomes);
    console.log(`  ${history.length} requests, ${compared} takes compared with the one before`);
    assert.ok(compared > 0);
    assert.deepEqual(wrong, []);

    const tasks = await recordedTasks(state.path);
    assert.equal(tasks.length, TASKS);
    let lapses = 0;
    for (const { grant_id, state, attempt, counts } of tasks) {
      assert.equal(state, "done");
      assert.equal(counts["task.done"], 1);
      assert.equal(counts["task.taken"], attempt, "every take counts");
      const lapsed = attempt - 1 - (counts["task.failed"] ?? 0);
      assert.ok(lapsed >= (outcomes.forgotten.has(grant_id) ? 1 : 0), `${grant_id}: ${lapsed}`);
      lapses += lapsed;
    }
    console.log(`  ${lapses} lapses; takers forgot ${outcomes.forgotten.size} tasks`);
    assert.ok(outcomes.forgotten.size > 0);
  } finally {
    target.service.kill("SIGTERM");
    await target.service.exit();
  }
});
