import assert from "node:assert/strict";
import type postgres from "postgres";
import { sha256 } from "../../bench/fill/cast.ts";
import { callAsService, withProjectDatabase } from "../connection.ts";

const OPERATOR = { kind: "operator", request_id: "totals" };

/** The sum of all rows of a table of totals. */
async function sumOf(sql: postgres.Sql, table: string) {
  const [sum] = await sql`
    select sum(pending)::integer as pending, sum(pending_bytes)::integer as pending_bytes,
      sum(committed)::integer as committed, sum(committed_bytes)::integer as committed_bytes
    from ${sql(`artifacts.${table}`)}`;
  return { ...sum };
}

function register(sql: postgres.Sql, agentId: string) {
  return callAsService(sql, "register_artifact", {
    caller: OPERATOR,
    agent_id: agentId,
    artifact_id: `art_${crypto.randomUUID().replaceAll("-", "")}`,
    key: "k",
    mime: "text/plain",
    size: 10,
    ttl_days: 1,
    quota_bytes: 0,
    max_pending: 1000,
  });
}

Deno.test("registrations of many agents at the same time, and a removal of several → the project has what its agents have together", async () => {
  await withProjectDatabase({}, async (sql) => {
    const agents = Array.from({ length: 12 }, (_, index) => `agent-${index % 4}`);
    await Promise.all(agents.map((agent) => register(sql, agent)));
    const held = { pending: 12, pending_bytes: 120, committed: 0, committed_bytes: 0 };
    assert.deepEqual(await sumOf(sql, "totals"), held);
    assert.deepEqual(await sumOf(sql, "project_totals"), held);

    await Promise.all([
      callAsService(sql, "remove_agent", { agent_id: "agent-0" }),
      callAsService(sql, "remove_agent", { agent_id: "agent-1" }),
      register(sql, "agent-2"),
    ]);
    const left = { pending: 7, pending_bytes: 70, committed: 0, committed_bytes: 0 };
    assert.deepEqual(await sumOf(sql, "totals"), left);
    assert.deepEqual(await sumOf(sql, "project_totals"), left);
    // Removals, which hold the sweep's lock, add to a separate row.
    const [apart] = await sql`
      select pending::integer from artifacts.project_totals where shard = -1`;
    assert.deepEqual({ ...apart }, { pending: -6 });
  });
});

Deno.test("read_artifacts_metrics → what is held; null where nothing was swept yet; forbidden for an agent", async () => {
  await withProjectDatabase({}, async (sql) => {
    await register(sql, "planner");
    const { artifacts, bytes, backlog, swept_at } = await callAsService(
      sql,
      "read_artifacts_metrics",
      { caller: OPERATOR },
    );
    assert.deepEqual(artifacts, { pending: 1, committed: 0, superseded: 0 });
    assert.deepEqual(bytes, { pending: 10, committed: 0, superseded: 0 });
    assert.deepEqual(backlog, { to_end: 0, to_empty: 0, to_forget: 0 });
    assert.equal(swept_at, null);
    await callAsService(sql, "forget_ended", { caller: OPERATOR, max_entries: 10 });
    const after = await callAsService(sql, "read_artifacts_metrics", { caller: OPERATOR });
    assert.ok(Number(after["swept_at"]) > 0);

    const { key } = await callAsService<{ key: string }>(sql, "create_agent_key", {
      agent_id: "planner",
    });
    const caller = { kind: "agent", key_hash: sha256(key), request_id: "totals" };
    await assert.rejects(callAsService(sql, "read_artifacts_metrics", { caller }), /forbidden/);
  });
});
