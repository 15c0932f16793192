import assert from "node:assert/strict";
import type postgres from "postgres";
import { callAsService, withProjectDatabase } from "../connection.ts";

const OPERATOR = { kind: "operator", request_id: "usage" };

interface Entry {
  readonly key_hash?: string;
  readonly agent_id?: string;
  readonly seconds_ago?: number;
  readonly requests?: number;
  readonly refusals?: Readonly<Record<string, number>>;
  readonly is_unknown?: boolean;
}

function record(sql: postgres.Sql, entries: readonly Entry[]): Promise<{ callers: object }> {
  const filled = entries.map((entry) => ({ seconds_ago: 0, requests: 1, refusals: {}, ...entry }));
  return callAsService(sql, "record_usage", { entries: filled });
}

/** A new key of an agent: its id and its hash. */
async function keyOf(sql: postgres.Sql, agentId: string): Promise<{ id: string; hash: string }> {
  const { key_id } = await callAsService<{ key_id: string }>(sql, "create_agent_key", {
    agent_id: agentId,
  });
  const [key] = await sql`select key_hash from agents.keys where key_id = ${key_id}`;
  return { id: key_id, hash: key!["key_hash"] };
}

async function usageIn(sql: postgres.Sql) {
  const rows = await sql`
    select agent_id, sum(requests)::integer as requests, sum(refusals)::integer as refusals
    from agents.usage group by agent_id order by agent_id`;
  return rows.map((row) => ({ ...row }));
}

async function refusalsIn(sql: postgres.Sql) {
  const rows = await sql`
    select agent_id, kind, sum(count)::integer as count
    from agents.refusals group by agent_id, kind order by agent_id, kind`;
  return rows.map((row) => ({ ...row }));
}

Deno.test("record_usage of two keys of an agent, twice → one row of the day with the sum; each key with its last use", async () => {
  await withProjectDatabase({}, async (sql) => {
    const [one, other] = [await keyOf(sql, "planner"), await keyOf(sql, "planner")];
    const entries = [
      { key_hash: one.hash, requests: 3, refusals: { forbidden: 1 } },
      { key_hash: other.hash, requests: 2, refusals: { forbidden: 1, rate_limited: 1 } },
    ];
    await record(sql, entries);
    await record(sql, entries);
    assert.deepEqual(await usageIn(sql), [{ agent_id: "planner", requests: 10, refusals: 6 }]);
    assert.deepEqual(await refusalsIn(sql), [
      { agent_id: "planner", kind: "forbidden", count: 4 },
      { agent_id: "planner", kind: "rate_limited", count: 2 },
    ]);
    const uses = await sql`
      select key_id from agents.key_uses where last_used_at > now() - interval '1 minute'`;
    assert.deepEqual(
      uses.map((use) => use["key_id"]).sort(),
      [one.id, other.id].sort(),
    );
  });
});

Deno.test("record_usage of a key that has ended → refusals of its agent, and no use of the key", async () => {
  await withProjectDatabase({}, async (sql) => {
    const { id, hash } = await keyOf(sql, "planner");
    await callAsService(sql, "revoke_agent_key", { key_id: id });
    await record(sql, [{ key_hash: hash, requests: 4, refusals: { unauthenticated: 4 } }]);
    assert.deepEqual(await refusalsIn(sql), [
      { agent_id: "planner", kind: "unauthenticated", count: 4 },
    ]);
    assert.deepEqual([...await sql`select from agents.key_uses`], []);
  });
});

Deno.test("record_usage of keys that never existed → nothing is written, no agent is named", async () => {
  await withProjectDatabase({}, async (sql) => {
    const entries = Array.from({ length: 100 }, (_, key) => ({
      key_hash: String(key),
      refusals: { unauthenticated: 1 },
      is_unknown: true,
    }));
    assert.deepEqual(await record(sql, entries), { callers: {} });
    assert.deepEqual([await usageIn(sql), await refusalsIn(sql)], [[], []]);
    assert.deepEqual([...await sql`select from agents.key_uses`], []);
  });
});

Deno.test("record_usage of an agent without a key → its usage; of a key that the process does not know → the usage of the key's agent", async () => {
  await withProjectDatabase({}, async (sql) => {
    const [known, unknown] = [await keyOf(sql, "planner"), await keyOf(sql, "builder")];
    const answer = await record(sql, [
      { agent_id: "person", requests: 2 },
      { key_hash: known.hash },
      { key_hash: unknown.hash, is_unknown: true },
    ]);
    assert.deepEqual(answer, {
      callers: { [unknown.hash]: { agent_id: "builder", key_id: unknown.id } },
    });
    assert.deepEqual(await usageIn(sql), [
      { agent_id: "builder", requests: 1, refusals: 0 },
      { agent_id: "person", requests: 2, refusals: 0 },
      { agent_id: "planner", requests: 1, refusals: 0 },
    ]);
  });
});

Deno.test("record_usage of earlier requests → counted in their hour and day; the last use never goes back; no more than a day", async () => {
  await withProjectDatabase({}, async (sql) => {
    const { hash } = await keyOf(sql, "planner");
    await record(sql, [{ key_hash: hash, seconds_ago: -5, refusals: { forbidden: 1 } }]);
    const lastUse = async () => (await sql`select last_used_at from agents.key_uses`)[0];
    const newest = await lastUse();
    await record(sql, [{ key_hash: hash, seconds_ago: 1e9, refusals: { forbidden: 1 } }]);
    assert.deepEqual(await lastUse(), newest);
    const [ages] = await sql`
      select max(hour) <= now() as is_past,
        min(hour) = date_trunc('hour', max(hour) - interval '1 day', 'UTC') as is_a_day
      from agents.refusals`;
    assert.deepEqual({ ...ages }, { is_past: true, is_a_day: true });
    assert.equal((await sql`select from agents.usage`).length, 2);
  });
});

Deno.test("record_usage by many processes at the same time, of the same agents in any order → every request counts", async () => {
  await withProjectDatabase({}, async (sql) => {
    const agents = ["a", "B", "c", "D"];
    const keys = await Promise.all(agents.map((agent) => keyOf(sql, agent)));
    await Promise.all(Array.from({ length: 40 }, (_, turn) => {
      const entries = keys.map(({ hash }) => ({ key_hash: hash, refusals: { forbidden: 1 } }));
      return record(sql, turn % 2 === 0 ? entries : entries.toReversed());
    }));
    assert.deepEqual((await usageIn(sql)).map((row) => Object.values(row)), [
      ["B", 40, 40],
      ["D", 40, 40],
      ["a", 40, 40],
      ["c", 40, 40],
    ]);
  });
});

Deno.test("forget_usage → days and hours that are older go, in steps; an agent may not", async () => {
  await withProjectDatabase({}, async (sql) => {
    await sql`
      insert into agents.usage select 'planner', current_date - age, 1, 1, 0, 0, 0
      from unnest(array[0, 39, 41, 42, 43]) age`;
    await sql`
      insert into agents.refusals
      select 'planner', date_trunc('hour', now() - make_interval(days => age), 'UTC'), 'forbidden', 1
      from unnest(array[0, 39, 41, 42, 43]) age`;
    const step = { retention_days: 40, max_entries: 2 };
    const { hash } = await keyOf(sql, "planner");
    const agent = { kind: "agent", key_hash: hash, request_id: "usage" };
    await assert.rejects(
      callAsService(sql, "forget_usage", { caller: agent, ...step }),
      /forbidden/,
    );
    assert.equal((await sql`select from agents.usage`).length, 5);
    const remaining = [];
    for (let call = 0; call < 3; call++) {
      remaining.push(await callAsService(sql, "forget_usage", { caller: OPERATOR, ...step }));
    }
    assert.deepEqual(remaining, [{ remaining: 2 }, { remaining: 0 }, { remaining: 0 }]);
    const ages = await sql`select (current_date - day) as age from agents.usage order by 1`;
    assert.deepEqual(ages.map(({ age }) => age), [0, 39]);
    assert.equal((await sql`select from agents.refusals`).length, 2);
  });
});
