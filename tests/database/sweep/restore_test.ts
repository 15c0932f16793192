import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import type postgres from "postgres";
import { committed, hoursAgo, pathsInBucket, sealed, seedBucket } from "./seeded_bucket.ts";
import { commit, publish, register } from "../own_artifacts.ts";
import { NOTHING_TO_DO, type OwnStack, withOwnStack } from "../own_stack.ts";
import type { Swept } from "./sweeping.ts";

const AGENTOPS = fileURLToPath(
  new URL("../../../packages/operator/agentops/main.ts", import.meta.url),
);

/** Copies the current rows. Returns a function that restores them. */
async function backUp(sql: postgres.Sql): Promise<() => Promise<void>> {
  const artifacts = await sql`select to_jsonb(a) as row from artifacts.artifacts a`;
  const rows = artifacts.map((artifact) => artifact["row"]);
  return async () => {
    await sql`truncate artifacts.artifacts, artifacts.totals, artifacts.project_totals cascade`;
    await sql`
      insert into artifacts.artifacts
      select * from jsonb_populate_recordset(null::artifacts.artifacts, ${sql.json(rows)})`;
  };
}

/** Makes all objects in the bucket and all current rows older. */
async function age(sql: postgres.Sql, hours: number): Promise<void> {
  const created_at = hoursAgo(hours);
  await sql`update storage.objects set created_at = ${created_at}`;
  await sql`update artifacts.artifacts set created_at = ${created_at}`;
}

async function fsck({ stack }: OwnStack): Promise<{ code: number; lines: string[] }> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-env", "--allow-read", "--allow-net", AGENTOPS, "fsck"],
    env: { SUPABASE_URL: stack.url, SUPABASE_SECRET_KEY: stack.secretKey },
  }).output();
  assert.equal(new TextDecoder().decode(stderr), "");
  return {
    code,
    lines: new TextDecoder().decode(stdout).split("\n").filter((line) => line !== ""),
  };
}

Deno.test("a database of yesterday beside today's bucket → /sweep removes nothing that was added since, and fsck names it", async () => {
  await withOwnStack(async (own) => {
    const { sql, ask } = own;
    const kept = await publish(own, "kept");
    const deleted = await publish(own, "deleted today");
    const pending = await register(own, "committed today");
    const rejected = await register(own, "committed today, at the second attempt");
    const verifying = await register(own, "being committed when the backup was made");
    // The state after begin_commit and the move.
    await sql`update artifacts.artifacts set commit_attempts = 1 where artifact_id = ${verifying}`;
    await sql`
      update storage.objects set name = 'sealed/' || ${verifying}::text || '/1'
      where name = 'incoming/' || ${verifying}::text`;
    assert.deepEqual(await fsck(own), { code: 0, lines: [] });

    const restore = await backUp(sql);
    await commit(own, pending, "committed today");
    await sql`update artifacts.artifacts set commit_attempts = 1, rejected_attempts = 1
      where artifact_id = ${rejected}`;
    await commit(own, rejected, "committed today, at the second attempt");
    await commit(own, verifying, "being committed when the backup was made");
    const added = await publish(own, "published today");
    await ask("/delete", { artifact_id: deleted });
    await sql`update artifacts.artifacts set deleted_at = ${
      hoursAgo(1)
    } where artifact_id = ${deleted}`;
    assert.deepEqual(await ask("/sweep"), { ...NOTHING_TO_DO, expired: 1 });
    const today = await pathsInBucket(sql);
    assert.deepEqual(
      today,
      [
        `sealed/${added}/1`,
        `sealed/${kept}/1`,
        `sealed/${pending}/1`,
        `sealed/${rejected}/2`,
        `sealed/${verifying}/1`,
      ].sort(),
    );

    await restore();
    await age(sql, 30);
    assert.deepEqual(await ask("/sweep"), NOTHING_TO_DO);
    assert.deepEqual(await pathsInBucket(sql), today);
    const { code, lines } = await fsck(own);
    assert.equal(code, 1);
    assert.deepEqual(lines, [
      `artifact without bytes: ${deleted} sealed/${deleted}/1`,
      ...today
        .filter((path) => [added, pending, rejected].some((id) => path.includes(id)))
        .map((path) => `bytes without artifact: ${path}`),
    ]);
  });
});

Deno.test("orphans that are more than 5% of the bucket → held and counted, until remove_many_orphans", async () => {
  await withOwnStack(async (own) => {
    const { sql, ask } = own;
    const live = await seedBucket(sql, [
      { name: "current", count: 94, row: committed(), objects: [sealed(1)] },
    ]);
    const orphans = await seedBucket(sql, [
      { name: "unknown", count: 6, row: null, objects: [sealed(1, 15 * 24)] },
    ]);
    const all = [...live, ...orphans].sort();
    assert.deepEqual(await ask("/sweep"), { ...NOTHING_TO_DO, orphans_held: 6 });
    assert.deepEqual(await pathsInBucket(sql), all);

    const told = { limit: 2, remove_many_orphans: true };
    assert.deepEqual(await ask("/sweep", told), { ...NOTHING_TO_DO, orphaned: 2, remaining: 4 });
    // Four of 98 are less than 5%.
    assert.equal((await ask<Swept>("/sweep")).orphaned, 4);
    assert.deepEqual(await pathsInBucket(sql), live.sort());
  });
});

Deno.test("agentops fsck of 1,001 lost objects and 1,001 objects of nobody → one line each, exit code 1", async () => {
  await withOwnStack(async (own) => {
    await seedBucket(own.sql, [
      { name: "lost", count: 1001, row: committed(), objects: [] },
      { name: "unknown", count: 1001, row: null, objects: [sealed(1)] },
    ]);
    const { code, lines } = await fsck(own);
    assert.equal(code, 1);
    assert.deepEqual([lines.length, new Set(lines).size], [2002, 2002]);
    assert.match(lines[0]!, /^artifact without bytes: (art_[0-9a-f]{32}) sealed\/\1\/1$/);
    assert.match(lines[2001]!, /^bytes without artifact: sealed\/art_[0-9a-f]{32}\/1$/);
  });
});
