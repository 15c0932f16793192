import assert from "node:assert/strict";
import type postgres from "postgres";
import {
  artifactIdOf,
  committed,
  hoursAgo,
  incoming,
  pending,
  sealed,
  seedBucket,
  verifying,
} from "./seeded_bucket.ts";
import { callAsService, withProjectDatabase } from "../connection.ts";

const DAY = 24;
const OPERATOR = { kind: "operator", request_id: "test" };

interface Step extends Record<string, unknown> {
  readonly expired: number;
  readonly abandoned: number;
  readonly remaining: number;
  readonly dead_paths: readonly string[];
}

/** The calls of /sweep about artifacts, in its order, without removing objects in between. */
async function sweep(
  sql: postgres.Sql,
  { caller = OPERATOR, window_seconds = 60, max_entries = 100 } = {},
): Promise<Step> {
  const call = (name: string, parameters: object) =>
    callAsService<Step>(sql, name, { caller, max_entries, ...parameters });
  const ended = await call("end_artifacts", { window_seconds });
  const found = await call("collect_dead_objects", { remove_many_orphans: false });
  const forgotten = await call("forget_ended", {});
  return {
    ...ended,
    ...found,
    remaining: ended.remaining + found.remaining + forgotten.remaining,
  };
}

async function endedArtifacts(sql: postgres.Sql): Promise<string[]> {
  const rows = await sql<{ key: string }[]>`
    select key from artifacts.artifacts where ended_at is not null order by key`;
  return rows.map((row) => row.key);
}

Deno.test("a sweep deletes what has expired, and nothing that an agent may still use", async () => {
  await withProjectDatabase({ defaultPrivileges: "newer" }, async (sql) => {
    const deleted = committed({ state: "deleted" });
    await seedBucket(sql, [
      { name: "over: expired", count: 1, row: committed({ expiresIn: -0.04 }), objects: [] },
      {
        name: "over: deleted",
        count: 1,
        row: { ...deleted, deleted_at: hoursAgo(0.04) },
        objects: [],
      },
      { name: "over: abandoned", count: 1, row: pending(26.1), objects: [incoming(26)] },
      {
        name: "over: sealed",
        count: 1,
        row: pending(15 * DAY, { commit_attempts: 1 }),
        verification: verifying({ progressHoursAgo: 25 }),
        objects: [sealed(1, 15 * DAY)],
      },
      {
        name: "over: lease",
        count: 1,
        row: pending(27, { commit_attempts: 1 }),
        verification: verifying({ leaseEndsInHours: -0.01 }),
        objects: [],
      },
      { name: "over: unfit", count: 1, row: pending(3.1), objects: [incoming(3, 1)] },
      { name: "unfit, not yet", count: 1, row: pending(2.9), objects: [incoming(2, 1)] },
      { name: "fit", count: 1, row: pending(3.1), objects: [incoming(3)] },
      { name: "window of expired", count: 1, row: committed({ expiresIn: -0.02 }), objects: [] },
      {
        name: "window of deleted",
        count: 1,
        row: { ...deleted, deleted_at: hoursAgo(0.02) },
        objects: [],
      },
      { name: "upload URL", count: 1, row: pending(25.9), objects: [incoming(25)] },
      {
        name: "progress",
        count: 1,
        row: pending(15 * DAY, { commit_attempts: 1 }),
        verification: verifying({ progressHoursAgo: 23 }),
        objects: [],
      },
      {
        name: "leased",
        count: 1,
        row: pending(27, { commit_attempts: 1 }),
        verification: verifying({ leaseEndsInHours: 0.01 }),
        objects: [],
      },
      {
        name: "sealed lately",
        count: 1,
        row: pending(27, { commit_attempts: 1 }),
        objects: [sealed(1, 26)],
      },
    ]);
    const step = await sweep(sql);
    assert.deepEqual([step.expired, step.abandoned, step.remaining], [2, 4, 0]);
    assert.deepEqual(await endedArtifacts(sql), [
      "over: abandoned/0",
      "over: deleted/0",
      "over: expired/0",
      "over: lease/0",
      "over: sealed/0",
      "over: unfit/0",
    ]);
    const [left] = await sql`
      select count(*)::integer as verifications
      from artifacts.verifications join artifacts.artifacts using (artifact_id)
      where ended_at is not null`;
    assert.equal(left!["verifications"], 0);
  });
});

Deno.test("a longer fetch window keeps what was deleted for as long", async () => {
  await withProjectDatabase({}, async (sql) => {
    const deleted = { ...committed({ state: "deleted" }), deleted_at: hoursAgo(2) };
    await seedBucket(sql, [{ name: "deleted", count: 1, row: deleted, objects: [sealed(1)] }]);
    assert.equal((await sweep(sql, { window_seconds: 3 * 3600 })).expired, 0);
    assert.deepEqual(await endedArtifacts(sql), []);
    assert.equal((await sweep(sql, { window_seconds: 3600 })).expired, 1);
  });
});

Deno.test("more dead objects than one step removes → the oldest go first, whatever is added meanwhile", async () => {
  await withProjectDatabase({}, async (sql) => {
    const over = { ...committed({ expiresIn: -1 }), ended_at: hoursAgo(0.5) };
    await seedBucket(sql, [
      { name: "busy", count: 5, row: committed(), objects: [sealed(1), incoming(0.1)] },
      { name: "over", count: 2, row: over, objects: [sealed(1, 100 * DAY)] },
    ]);
    const step = await sweep(sql, { max_entries: 2 });
    const paths = [0, 1].map((index) => `sealed/${artifactIdOf("over", index)}/1`);
    assert.deepEqual([...step.dead_paths].sort(), paths.sort());
    assert.equal(step.remaining, 5);
  });
});

Deno.test("each step of the sweep by an agent → forbidden, and nothing ends", async () => {
  await withProjectDatabase({}, async (sql) => {
    await seedBucket(sql, [{
      name: "expired",
      count: 1,
      row: committed({ expiresIn: -1 }),
      objects: [],
    }]);
    const key = await callAsService<{ key: string }>(sql, "create_agent_key", {
      agent_id: "planner",
    });
    const [hash] = await sql`select encode(sha256(${key.key}::bytea), 'hex') as key_hash`;
    const caller = { kind: "agent", request_id: "test", key_hash: String(hash!["key_hash"]) };
    const step = { caller, max_entries: 1 };
    for (
      const [name, parameters] of Object.entries({
        record_surplus_uploads: { caller },
        end_artifacts: { ...step, window_seconds: 60 },
        collect_dead_objects: { ...step, remove_many_orphans: false },
        forget_ended: step,
      })
    ) {
      await assert.rejects(callAsService(sql, name, parameters), /forbidden/, name);
    }
    assert.deepEqual(await endedArtifacts(sql), []);
  });
});

Deno.test("tombstones go after 30 days, with their grants, once Storage has no object of them", async () => {
  await withProjectDatabase({}, async (sql) => {
    const ended = (days: number) => ({
      ...committed({ expiresIn: -40 * DAY }),
      ended_at: hoursAgo(days * DAY),
    });
    await seedBucket(sql, [
      { name: "old", count: 1, row: ended(31), objects: [] },
      { name: "old, with bytes", count: 1, row: ended(31), objects: [sealed(1)] },
      { name: "recent", count: 1, row: ended(29), objects: [] },
      { name: "current", count: 1, row: committed(), objects: [sealed(1)] },
    ]);
    const grants = [
      { artifact: "old", expires_at: hoursAgo(-1), revoked_at: null },
      { artifact: "recent", expires_at: hoursAgo(-1), revoked_at: null },
      { artifact: "current", expires_at: hoursAgo(-1), revoked_at: null },
      { artifact: "current", expires_at: hoursAgo(29 * DAY), revoked_at: null },
      { artifact: "current", expires_at: hoursAgo(31 * DAY), revoked_at: null },
      { artifact: "current", expires_at: hoursAgo(-1), revoked_at: hoursAgo(31 * DAY) },
    ];
    for (const [index, { artifact, expires_at, revoked_at }] of grants.entries()) {
      await sql`insert into artifacts.grants (grant_id, artifact_id, from_agent, to_agent, token_hash, expires_at, revoked_at)
        values (${`grant_${String(index).padStart(32, "0")}`}, ${
        artifactIdOf(artifact, 0)
      }, 'planner', 'builder',
          ${String(index).padStart(64, "0")}, ${expires_at}, ${revoked_at})`;
    }
    assert.equal((await sweep(sql)).remaining, 0);
    const artifacts = await sql`select key from artifacts.artifacts order by key`;
    assert.deepEqual(artifacts.map((row) => row["key"]), [
      "current/0",
      "old, with bytes/0",
      "recent/0",
    ]);
    const left =
      await sql`select right(grant_id, 1)::integer as index from artifacts.grants order by 1`;
    assert.deepEqual(left.map((row) => row["index"]), [1, 2, 3]);
  });
});
