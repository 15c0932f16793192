import assert from "node:assert/strict";
import type postgres from "postgres";
import { callAsService, withProjectDatabase } from "../connection.ts";
import { commitFile, endLongAgo, OPERATOR, prepare } from "./committing.ts";

const FORGET = { caller: OPERATOR, max_entries: 100 };

/** Versions after a restore or of a new holder: milliseconds since 1970. */
const BEYOND = Date.parse("2026-01-01");

function versionsOf(sql: postgres.Sql, key: string) {
  return callAsService<{ versions: { version: number }[] }>(sql, "list_versions", {
    caller: OPERATOR,
    agent_id: "planner",
    key,
    max_entries: 100,
  }).then(({ versions }) => versions.map(({ version }) => version));
}

Deno.test("commits of one name at once → every version once, without a gap; one is current", async () => {
  await withProjectDatabase({}, async (sql) => {
    const count = 8;
    const commits = await Promise.all(
      Array.from({ length: count }, () => prepare(sql, { key: "plan" })),
    );
    const committed = await Promise.all(commits.map((commit) => commit()));
    const expected = Array.from({ length: count }, (_, index) => index + 1);
    assert.deepEqual(committed.map(({ version }) => version).sort((a, b) => a - b), expected);
    assert.deepEqual(await versionsOf(sql, "plan"), expected.toReversed());
    const [current] = await sql`select version from artifacts.artifacts where state = 'committed'`;
    assert.equal(Number(current!["version"]), count);
  });
});

Deno.test("the sweep deletes the tombstone of the newest version → the next number is still a new one", async () => {
  await withProjectDatabase({}, async (sql) => {
    const [first, second] = [await commitFile(sql, "plan"), await commitFile(sql, "plan")];
    await endLongAgo(sql, second);
    await callAsService(sql, "forget_ended", FORGET);
    assert.deepEqual(await versionsOf(sql, "plan"), [1]);
    const third = await commitFile(sql, "plan");
    assert.equal(third.version, 3);
    for (const artifact of [first, third]) await endLongAgo(sql, artifact);
    await callAsService(sql, "forget_ended", FORGET);
    const [{ left }] = await sql<[{ left: number }]>`
      select count(*)::integer as left from artifacts.artifacts`;
    assert.equal(left, 0);
    assert.equal((await commitFile(sql, "plan")).version, 4);
    assert.equal((await commitFile(sql, "other")).version, 1);
  });
});

Deno.test("another holder takes the name over → versions beyond the former ones, of every file; no version of the former holder is told of", async () => {
  await withProjectDatabase({}, async (sql) => {
    await sql`insert into agents.names (agent_id, ways) values ('planner', '{users,operator}')`;
    await commitFile(sql, "plan");
    await commitFile(sql, "plan");
    await callAsService(sql, "take_over_agent", { agent_id: "planner" });
    for (const key of ["plan", "other"]) {
      const { version } = await commitFile(sql, key);
      assert.ok(version > BEYOND, `${key} ${version}`);
      assert.deepEqual(await versionsOf(sql, key), [version]);
      assert.equal((await commitFile(sql, key)).version, version + 1);
    }
    const opened = callAsService(sql, "open_artifact", {
      caller: OPERATOR,
      artifact_id: null,
      window_seconds: 60,
      agent_id: "planner",
      key: "plan",
      version: 1,
    });
    await assert.rejects(opened, /artifact_not_found/);
  });
});

Deno.test("an agent is erased, then readmitted → versions beyond the former ones, before and after", async () => {
  await withProjectDatabase({}, async (sql) => {
    await commitFile(sql, "plan");
    let pseudonym: string | null = null;
    for (let remaining = true; remaining;) {
      ({ pseudonym, remaining } = await callAsService<{ pseudonym: string; remaining: boolean }>(
        sql,
        "erase_agent",
        { agent_id: "planner", pseudonym },
      ));
    }
    const before = await commitFile(sql, "plan");
    assert.ok(before.version > BEYOND);
    await callAsService(sql, "readmit_agent", { agent_id: "planner" });
    assert.ok((await commitFile(sql, "plan")).version > before.version);
    assert.ok((await commitFile(sql, "other")).version > BEYOND);
  });
});

Deno.test("after_restore() → versions above every one that was given out, of old and new names; again after a second restore, with a clock that went back", async () => {
  await withProjectDatabase({}, async (sql) => {
    await commitFile(sql, "plan");
    await callAsService(sql, "after_restore", {});
    const [plan, other] = [await commitFile(sql, "plan"), await commitFile(sql, "other")];
    assert.ok(plan.version > BEYOND && other.version > BEYOND);
    await sql`update agents.epochs set first_version_after = now() + interval '1 year'`;
    const { version } = await commitFile(sql, "plan");
    await callAsService(sql, "after_restore", {});
    assert.ok((await commitFile(sql, "plan")).version > version);
  });
});
