/** What `keep_versions` must not end: a version that is being granted, and one that is taken. */
import assert from "node:assert/strict";
import type postgres from "postgres";
import { behind, holdCall } from "../changes/held_transaction.ts";
import { callAsService, withProjectDatabase } from "../connection.ts";
import { commitFile, type Committed, OPERATOR, prepare, verdictOf } from "./committing.ts";

const KEEP_ONE = { keep_versions: 1 };
const READER = "builder";

function grantOf({ artifact_id }: Pick<Committed, "artifact_id">) {
  return {
    caller: OPERATOR,
    artifact_id,
    to_agent: READER,
    max_live_grants: 1000,
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    grant_id: `grant_${crypto.randomUUID().replaceAll("-", "")}`,
    token_hash: `${crypto.randomUUID()}${crypto.randomUUID()}`.replaceAll("-", ""),
  };
}

async function stateOf(sql: postgres.Sql, { artifact_id }: Pick<Committed, "artifact_id">) {
  const [row] = await sql`select state from artifacts.artifacts where artifact_id = ${artifact_id}`;
  return row!["state"];
}

async function grantCount(sql: postgres.Sql): Promise<number> {
  return (await sql`select from artifacts.grants where live_until > clock_timestamp()`).length;
}

Deno.test("a commit with keep_versions waits for /grant of a surplus version → it leaves the version, and so does the next commit", async () => {
  await withProjectDatabase({}, async (sql) => {
    const [first] = [await commitFile(sql, "plan"), await commitFile(sql, "plan")];
    const commit = await prepare(sql, { key: "plan", further: KEEP_ONE });
    await using granting = await holdCall(sql, "grant_artifact", grantOf(first));
    // It waits for the owner's totals, which every grant changes.
    await behind(sql, granting, commit);
    assert.deepEqual([await stateOf(sql, first), await grantCount(sql)], ["superseded", 1]);
    await commitFile(sql, "plan", { further: KEEP_ONE });
    assert.deepEqual([await stateOf(sql, first), await grantCount(sql)], ["superseded", 1]);
  });
});

Deno.test("/grant of a version that a commit with keep_versions is ending → waits for the commit, then artifact_expired and no grant", async () => {
  await withProjectDatabase({}, async (sql) => {
    const [first] = [await commitFile(sql, "plan"), await commitFile(sql, "plan")];
    const verdict = await verdictOf(sql, { key: "plan", further: KEEP_ONE });
    await using committing = await holdCall(sql, "finish_commit", verdict);
    const granted = behind(
      sql,
      committing,
      () => callAsService(sql, "grant_artifact", grantOf(first)),
    );
    await assert.rejects(granted, /artifact_expired/);
    assert.deepEqual([await stateOf(sql, first), await grantCount(sql)], ["deleted", 0]);
  });
});

Deno.test("commits with keep_versions and grants of every version at once, again and again → no granted version has ended, and all others but one", async () => {
  await withProjectDatabase({}, async (sql) => {
    const versions: Committed[] = [];
    for (let round = 0; round < 4; round++) {
      const commits = await Promise.all(
        [1, 2, 3].map(() => prepare(sql, { key: "plan", further: KEEP_ONE })),
      );
      const [committed] = await Promise.all([
        Promise.all(commits.map((commit) => commit())),
        ...versions.filter((_, index) => index % 2 === 0).map((version) =>
          callAsService(sql, "grant_artifact", grantOf(version)).catch((error: Error) =>
            assert.match(error.message, /artifact_expired/)
          )
        ),
      ]);
      versions.push(...committed);
    }
    await commitFile(sql, "plan", { further: KEEP_ONE });
    const [kept] = await sql<[{ granted_and_ended: number; kept: number }]>`
      select count(*) filter (where g.grantees > 0 and a.state = 'deleted')::integer as granted_and_ended,
        count(*) filter (where g.grantees = 0 and a.state = 'superseded')::integer as kept
      from artifacts.artifacts a
      cross join lateral (
        select count(*) as grantees from artifacts.grants g where g.artifact_id = a.artifact_id
      ) g`;
    assert.equal(kept.granted_and_ended, 0);
    assert.ok(kept.kept <= 1, `${kept.kept}`);
  });
});

Deno.test("a commit with keep_versions and end_grants → ends a version whose task waits or is done, and leaves one that is taken until its take lapses", async () => {
  await withProjectDatabase({}, async (sql) => {
    const ending = { ...KEEP_ONE, end_grants: true };
    const taken = await commitFile(sql, "plan");
    await callAsService(sql, "grant_artifact", grantOf(taken));
    const { tasks } = await callAsService<{ tasks: { take_id: string }[] }>(sql, "take_tasks", {
      caller: OPERATOR,
      agent_id: READER,
      max_entries: 1,
      seconds: 300,
    });
    assert.equal(tasks.length, 1);
    const waiting = await commitFile(sql, "plan");
    await callAsService(sql, "grant_artifact", grantOf(waiting));
    await commitFile(sql, "plan");
    await commitFile(sql, "plan", { further: ending });
    assert.deepEqual([await stateOf(sql, taken), await stateOf(sql, waiting)], [
      "superseded",
      "deleted",
    ]);
    await sql`update artifacts.tasks set ready_at = clock_timestamp() where state = 'taken'`;
    await commitFile(sql, "plan", { further: ending });
    assert.equal(await stateOf(sql, taken), "deleted");
  });
});
