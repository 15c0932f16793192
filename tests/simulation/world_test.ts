import assert from "node:assert/strict";
import { openStage } from "./stage.ts";
import { NOTHING_OMITTED } from "./world/decisions.ts";
import { SqlError } from "./world/database.ts";
import { runAs } from "./world/globals.ts";
import { World } from "./world/world.ts";

const PROFILE = new Headers({ "content-profile": "public" });
const stage = await openStage();

function agents(): number {
  const [row] = stage.database.query("select count(*) as count from agents.keys");
  return Number(row!["count"]);
}

function createAgent(agent_id: string): Response {
  const body = JSON.stringify({ agent_id });
  return stage.postgrest.call("agent_api_create_agent_key", body, PROFILE);
}

function transaction(): string {
  return stage.database.query("select pg_current_xact_id()::text as id")[0]!["id"]!;
}

Deno.test("a database goes back to its start, to a later state, and to its start → all of it", () => {
  const { database, start } = stage;
  database.restore(start);
  assert.equal(agents(), 0);
  const first = transaction();
  createAgent("ann");
  const later = database.save();
  const afterOne = transaction();
  createAgent("bob");
  assert.equal(agents(), 2);
  database.restore(start);
  assert.deepEqual([agents(), transaction()], [0, first]);
  database.restore(later);
  assert.deepEqual([agents(), transaction()], [1, afterOne]);
  database.restore(start);
  assert.deepEqual([agents(), transaction()], [0, first]);
});

Deno.test("calls of SQL functions → answered as PostgREST answers them, and a refusal changes nothing", async () => {
  stage.database.restore(stage.start);
  const made = createAgent("ann");
  assert.equal(made.status, 200);
  assert.equal((await made.json()).agent_id, "ann");
  const refused = createAgent("no spaces");
  assert.equal(refused.status, 422);
  const { code, message, hint } = await refused.json();
  assert.deepEqual([code, message, hint], ["PT422", "invalid_request", null]);
  const unknown = stage.postgrest.call("agent_api_create_agent_key", '{"agent": "x"}', PROFILE);
  assert.deepEqual([unknown.status, (await unknown.json()).code], [404, "PGRST202"]);
  assert.equal(agents(), 1);
  assert.throws(() => stage.database.query("select 1 / 0"), SqlError);
  assert.equal(agents(), 1);
});

Deno.test("time, timers and chance in a world → the world's; after it, the process'", async () => {
  stage.database.restore(stage.start);
  const read = () => {
    const world = new World(3, stage, NOTHING_OMITTED);
    try {
      world.clockErrors.database = 60_000;
      // This test may run in the context of a request of a rehearsed history.
      return runAs(world.party("test"), () => {
        const [row] = stage.database.query(
          `select gen_random_uuid()::text as id,
            to_char(clock_timestamp() at time zone 'utc', 'HH24:MI:SS') as time`,
        );
        return [Date.now(), new Date().toISOString(), crypto.randomUUID(), Math.random(), row];
      });
    } finally {
      world.end();
    }
  };
  const values = read();
  assert.equal(values[1], "2026-01-05T08:00:00.000Z");
  assert.equal((values[4] as Record<string, string>)["time"], "08:01:00");
  assert.deepEqual(read(), values);
  assert.ok(Date.now() > Date.UTC(2026, 0, 6));
  assert.notEqual(crypto.randomUUID(), crypto.randomUUID());

  const world = new World(3, stage, NOTHING_OMITTED);
  const seen: string[] = [];
  await runAs(world.party("test"), async () => {
    setTimeout(() => seen.push("late"), 86_400_000);
    const cancelled = setTimeout(() => seen.push("cancelled"), 10);
    setTimeout(() => seen.push("early"), 20);
    clearTimeout(cancelled);
    await world.run(3_600_000);
  });
  world.end();
  assert.deepEqual(seen, ["early"]);
});
