import assert from "node:assert/strict";
import type postgres from "postgres";
import { startOwnFunction } from "../../own_function/own_function.ts";
import { callAsService, withProjectDatabase, withStackDatabase } from "../connection.ts";
import type { Swept } from "../sweep/sweeping.ts";

const OPERATOR = { kind: "operator", request_id: "forgetting" };

/** Adds an event for each age in days, in this order. */
async function addEvents(sql: postgres.Sql, agesInDays: readonly number[]): Promise<void> {
  await sql`
    insert into agents.events (occurred_at, actor_kind, action, object_id)
    select now() - make_interval(days => age), 'operator', 'test.added', age::text
    from unnest(${agesInDays}::integer[]) with ordinality as added (age, position)
    order by position`;
}

/** The ages in days of the remaining events that addEvents added. */
async function agesIn(sql: postgres.Sql): Promise<number[]> {
  const rows = await sql`
    select object_id from agents.events where action = 'test.added' order by event_id`;
  return rows.map((row) => Number(row["object_id"]));
}

function forget(
  sql: postgres.Sql,
  { caller = OPERATOR, retention_days = 400, max_entries = 100 }: {
    caller?: object;
    retention_days?: number;
    max_entries?: number;
  } = {},
) {
  return callAsService(sql, "forget_events", { caller, retention_days, max_entries });
}

Deno.test("forget_events → removes exactly what is older, and one event says which", async () => {
  await withProjectDatabase({}, async (sql) => {
    await addEvents(sql, [500, 401, 399, 0]);
    assert.deepEqual(await forget(sql), { forgotten: 2, remaining: 0 });
    assert.deepEqual(await agesIn(sql), [399, 0]);
    assert.deepEqual(await forget(sql), { forgotten: 0, remaining: 0 });
    const recorded = await sql`
      select actor_kind, request_id, details - 'kept_since' as details,
        (details ->> 'kept_since')::timestamptz between now() - interval '401 days' and now() - interval '399 days'
          as is_since
      from agents.events where action <> 'test.added'`;
    assert.deepEqual([...recorded], [{
      actor_kind: "operator",
      request_id: "forgetting",
      details: { removed: 2, first_event_id: 1, last_event_id: 2 },
      is_since: true,
    }]);
  });
});

Deno.test("forget_events of more than one call may remove → the oldest first, and what remains", async () => {
  await withProjectDatabase({}, async (sql) => {
    await addEvents(sql, [500, 490, 480, 470, 460, 10]);
    assert.deepEqual(await forget(sql, { max_entries: 2 }), { forgotten: 2, remaining: 3 });
    assert.deepEqual(await agesIn(sql), [480, 470, 460, 10]);
    assert.deepEqual(await forget(sql, { max_entries: 2 }), { forgotten: 2, remaining: 1 });
    assert.deepEqual(await forget(sql, { max_entries: 2 }), { forgotten: 1, remaining: 0 });
    assert.deepEqual(await agesIn(sql), [10]);
  });
});

Deno.test("forget_events where a younger event stands among older ones → it stays", async () => {
  await withProjectDatabase({}, async (sql) => {
    await addEvents(sql, [500, 5, 490]);
    assert.deepEqual(await forget(sql), { forgotten: 2, remaining: 0 });
    assert.deepEqual(await agesIn(sql), [5]);
  });
});

Deno.test("forget_events where more younger events than one call looks at stand before an older one → it stays, and nothing remains for a next call", async () => {
  await withProjectDatabase({}, async (sql) => {
    await addEvents(sql, [5, 5, 500, 490]);
    assert.deepEqual(await forget(sql, { max_entries: 2 }), { forgotten: 0, remaining: 0 });
    assert.deepEqual(await agesIn(sql), [5, 5, 500, 490]);
  });
});

Deno.test("8 forget_events at once → each event is removed once, and told of once", async () => {
  await withProjectDatabase({}, async (sql) => {
    await addEvents(sql, Array(40).fill(500));
    const calls = Array.from({ length: 8 }, () => forget(sql, { max_entries: 10 }));
    const answers = await Promise.all(calls);
    assert.equal(answers.reduce((sum, { forgotten }) => sum + Number(forgotten), 0), 40);
    const [told] = await sql`
      select sum((details ->> 'removed')::integer)::integer as removed
      from agents.events where action = 'events.forgotten'`;
    assert.equal(told!["removed"], 40);
    assert.deepEqual(await agesIn(sql), []);
  });
});

Deno.test("forget_events of less than 30 days, or by an agent → refused, and nothing is removed", async () => {
  await withProjectDatabase({}, async (sql) => {
    await addEvents(sql, [500, 40]);
    await assert.rejects(forget(sql, { retention_days: 29 }), /invalid_request/);
    await assert.rejects(forget(sql, { retention_days: 0 }), /invalid_request/);
    const { key } = await callAsService<{ key: string }>(sql, "create_agent_key", {
      agent_id: "planner",
    });
    const [stored] = await sql`
      select key_hash from agents.keys
      where key_hash = encode(sha256(convert_to(${key}, 'UTF8')), 'hex')`;
    const caller = { kind: "agent", key_hash: stored!["key_hash"], request_id: "test" };
    await assert.rejects(forget(sql, { caller }), /forbidden/);
    assert.deepEqual(await agesIn(sql), [500, 40]);
  });
});

Deno.test("the log → its owner, service_role and the superuser cannot delete, change or empty it, however old its rows are", async () => {
  await withProjectDatabase({}, async (sql) => {
    await addEvents(sql, [500, 0]);
    const [{ owner } = {}] = await sql`
      select tableowner as owner from pg_tables where schemaname = 'agents' and tablename = 'events'`;
    const [{ superuser } = {}] = await sql`select current_user as superuser`;
    assert.notEqual(owner, superuser);
    for (const role of [owner, superuser, "service_role"]) {
      for (
        const change of [
          "delete from agents.events",
          "delete from agents.events where occurred_at < now() - interval '400 days'",
          "delete from agents.events where false",
          "update agents.events set action = 'x'",
          "truncate agents.events",
        ]
      ) {
        await assert.rejects(
          sql.begin(async (transaction) => {
            await transaction.unsafe(`set local role "${role}"`);
            await transaction.unsafe(change);
          }),
          /append-only|permission denied/,
          `${change} by ${role}`,
        );
      }
    }
    assert.deepEqual(await agesIn(sql), [500, 0]);
  });
});

Deno.test("rows deleted with an event that says so → refused where one is young, or another, or one more", async () => {
  await withProjectDatabase({}, async (sql) => {
    await addEvents(sql, [500, 490, 480, 20]);
    const cheat = (
      said: { removed: number; first_event_id: number; last_event_id: number },
      ...deletions: readonly string[]
    ) =>
      sql.begin(async (transaction) => {
        await transaction`
          select agents.record_event('{"kind": "operator"}', null, 'events.forgotten', null, null,
            ${transaction.json(said)})`;
        for (const rows of deletions) {
          await transaction.unsafe(`delete from agents.events where event_id in (${rows})`);
        }
      });
    const two = { removed: 2, first_event_id: 1, last_event_id: 2 };
    const young = { removed: 1, first_event_id: 4, last_event_id: 4 };
    await assert.rejects(cheat(young, "4"), /append-only/);
    for (const deletions of [["1, 2, 3"], ["2, 3"], ["1"], ["1, 2", "3"]]) {
      await assert.rejects(cheat(two, ...deletions), /append-only/);
    }
    assert.deepEqual(await agesIn(sql), [500, 490, 480, 20]);
  });
});

Deno.test("/sweep with EVENTS_RETENTION_DAYS → removes what is older and says how many; with 0 nothing", async () => {
  // Ids below those of all other events, because old events have low ids.
  const ages = [80, 70, 50];
  const left = () =>
    withStackDatabase(async (sql) =>
      (await sql`
        select object_id from agents.events where action = 'test.swept' order by event_id`)
        .map((row) => Number(row["object_id"]))
    );
  const sweep = async (days: string) => {
    await using own = await startOwnFunction({ environment: { EVENTS_RETENTION_DAYS: days } });
    const answer = await own.post<Swept>("/sweep", { as: "operator", body: { limit: 1 } });
    assert.equal(answer.status, 200);
    return answer.body.forgotten_events;
  };
  await withStackDatabase((sql) =>
    sql`
      insert into agents.events (event_id, occurred_at, actor_kind, action, object_id)
      overriding system value
      select -position, now() - make_interval(days => age), 'operator', 'test.swept', age::text
      from unnest(${ages.toReversed()}::integer[]) with ordinality as added (age, position)`
  );
  assert.equal(await sweep("0"), 0);
  assert.deepEqual(await left(), ages);
  assert.equal(await sweep("60"), 2);
  assert.deepEqual(await left(), [50]);
});
