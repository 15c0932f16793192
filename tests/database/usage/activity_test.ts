import assert from "node:assert/strict";
import type postgres from "postgres";
import { callAsService, withProjectDatabase } from "../connection.ts";

const COUNTS = {
  function_name: "agent-mesh",
  requests: 10,
  errors: { forbidden: 2, internal: 1 },
  upstream_calls: 12,
  upstream_failures: 1,
};

function record(sql: postgres.Sql, activity: object | null) {
  return callAsService(sql, "record_usage", { entries: sql.json([]), activity });
}

async function activityOf(sql: postgres.Sql, name: string) {
  const [row] = await sql`select agents.activity_of(${name}) as counts`;
  return row!["counts"];
}

Deno.test("record_usage with the activity of two processes → the sums, of that function alone; nothing else is written", async () => {
  await withProjectDatabase({}, async (sql) => {
    const none = { requests: 0, errors: {}, upstream_calls: 0, upstream_failures: 0 };
    await record(sql, COUNTS);
    await record(sql, { ...COUNTS, errors: { forbidden: 1 }, upstream_failures: 0 });
    await record(sql, null);
    assert.deepEqual(await activityOf(sql, "agent-mesh"), {
      requests: 20,
      errors: { forbidden: 3, internal: 1 },
      upstream_calls: 24,
      upstream_failures: 1,
    });
    assert.deepEqual(await activityOf(sql, "agent-artifacts"), none);
    const [usage] = await sql`select count(*)::integer as rows from agents.usage`;
    assert.equal(usage!["rows"], 0);
  });
});

Deno.test("record_usage with the activity of another function, or of another kind → refused, nothing is written", async () => {
  await withProjectDatabase({}, async (sql) => {
    for (const wrong of [{ function_name: "other" }, { others: 1 }, { errors: { "a b": 1 } }]) {
      await assert.rejects(record(sql, { ...COUNTS, ...wrong }), /violates check constraint/);
    }
    const [activity] = await sql`select count(*)::integer as rows from agents.activity`;
    assert.equal(activity!["rows"], 0);
  });
});

Deno.test("count_expiring → agents whose last live key ends within the time: no key that was revoked, has ended, or is followed by another, and none of an enrolment", async () => {
  await withProjectDatabase({}, async (sql) => {
    const create = (agent_id: string, days: number | null) =>
      callAsService(sql, "create_agent_key", {
        agent_id,
        expires_at: days === null ? null : new Date(Date.now() + days * 86_400_000).toISOString(),
      });
    const expiring = async () => {
      const [row] = await sql`select agents.count_expiring('7 days')::integer as agents`;
      return row!["agents"];
    };
    await create("forever", null);
    await create("later", 8);
    await create("followed", 2);
    await create("followed", 30);
    await create("revoked", 3);
    await callAsService(sql, "revoke_agent_keys", { agent_id: "revoked" });
    const enrolment = await callAsService<{ enrolment_id: string }>(sql, "put_enrolment", {
      caller: { kind: "operator", request_id: "test" },
      enrolment: { kind: "key", tags: [], session_seconds: 3600, uses_left: 1 },
    });
    await create("enrolled", 1);
    await sql`update agents.keys set enrolment_id = ${enrolment.enrolment_id}, generation = 1
      where agent_id = 'enrolled'`;
    assert.equal(await expiring(), 0);
    await create("soon", 3);
    await create("soon", 6);
    await create("sooner", 1);
    assert.equal(await expiring(), 2);
    await sql`update agents.keys set created_at = now() - interval '9 days',
      expires_at = now() - interval '1 second' where agent_id = 'sooner'`;
    assert.equal(await expiring(), 1);
  });
});
