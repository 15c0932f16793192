/** A commit beside what makes and ends standing grants: a file is granted once, or not at all. */
import assert from "node:assert/strict";
import type postgres from "postgres";
import { behind, holdCall, holdTransaction } from "../changes/held_transaction.ts";
import { callAsService, urlOf, withProjectDatabase } from "../connection.ts";
import { commitFile, OPERATOR, prepare, verdictOf } from "../versions/committing.ts";
import {
  createStanding,
  creation,
  endStanding,
  grantedTo,
  liveCount,
  newStandingId,
  OWNER,
  READER,
} from "./standing_database.ts";

Deno.test("/standing/create with existing waits for a commit → the commit is among what exists: granted once", async () => {
  await withProjectDatabase({}, async (sql) => {
    const commit = await verdictOf(sql, { key: "plan" });
    await using committing = await holdCall(sql, "finish_commit", commit);
    const created = await behind(
      sql,
      committing,
      () =>
        callAsService<{ granted: number }>(
          sql,
          "create_standing_grant",
          creation({ existing: true }),
        ),
    );
    assert.equal(created.granted, 1);
    assert.deepEqual(await grantedTo(sql), [commit.artifact_id]);
  });
});

Deno.test("a commit waits for /standing/create → it makes the grant: granted once", async () => {
  await withProjectDatabase({}, async (sql) => {
    const commit = await prepare(sql, { key: "plan" });
    await using creating = await holdCall(
      sql,
      "create_standing_grant",
      creation({ existing: true }),
    );
    const { artifact_id } = await behind(sql, creating, commit);
    assert.deepEqual(await grantedTo(sql), [artifact_id]);
  });
});

Deno.test("/standing/end waits for a commit → it ends the commit's grant too", async () => {
  await withProjectDatabase({}, async (sql) => {
    const standing_id = await createStanding(sql);
    await using committing = await holdCall(
      sql,
      "finish_commit",
      await verdictOf(sql, { key: "plan" }),
    );
    const ended = await behind(sql, committing, () => endStanding(sql, standing_id));
    assert.deepEqual([ended.ended, ended.revoked], [true, 1]);
    assert.deepEqual(await grantedTo(sql), []);
  });
});

Deno.test("a commit waits for /standing/end → it grants nothing", async () => {
  await withProjectDatabase({}, async (sql) => {
    const standing_id = await createStanding(sql);
    const commit = await prepare(sql, { key: "plan" });
    await using ending = await holdCall(sql, "end_standing_grant", {
      caller: OPERATOR,
      standing_id,
    });
    assert.equal((await behind(sql, ending, commit)).state, "committed");
    assert.deepEqual(await grantedTo(sql), []);
  });
});

Deno.test("the removal of the agent that gets the grants waits for a commit → it ends the commit's grant too", async () => {
  await withProjectDatabase({}, async (sql) => {
    await createStanding(sql);
    await using committing = await holdCall(
      sql,
      "finish_commit",
      await verdictOf(sql, { key: "plan" }),
    );
    const removed = await behind(
      sql,
      committing,
      () => callAsService(sql, "remove_agent", { agent_id: READER }),
    );
    assert.deepEqual([removed["grants"], removed["remaining"]], [1, false]);
    assert.deepEqual([await grantedTo(sql), await liveCount(sql)], [[], 0]);
  });
});

Deno.test("a commit waits for the removal of the agent that gets the grants → it grants nothing", async () => {
  await withProjectDatabase({}, async (sql) => {
    await createStanding(sql);
    const commit = await prepare(sql, { key: "plan" });
    await using removing = await holdCall(sql, "remove_agent", { agent_id: READER });
    assert.equal((await behind(sql, removing, commit)).state, "committed");
    assert.deepEqual(await grantedTo(sql), []);
  });
});

Deno.test("a commit begins between a removal's lock and the end that it writes → it grants nothing", async () => {
  await withProjectDatabase({}, async (sql) => {
    const standing_id = await createStanding(sql);
    const commit = await prepare(sql, { key: "plan" });
    let session!: postgres.Sql;
    await using removing = await holdTransaction(await urlOf(sql), async (held) => {
      session = held;
      await held`
        select from artifacts.standing_grants where standing_id = ${standing_id} for update`;
    });
    const ending = {
      ...removing,
      async commit() {
        await session`select artifacts.end_standing(array[${standing_id}], ${
          session.json(OPERATOR)
        }, null)`;
        await removing.commit();
      },
    };
    assert.equal((await behind(sql, ending, commit)).state, "committed");
    assert.deepEqual(await grantedTo(sql), []);
  });
});

Deno.test("commits, /standing/create, /standing/end and a removal at once, again and again → no deadlock, and no grant without its standing grant", async () => {
  await withProjectDatabase({}, async (sql) => {
    for (let round = 0; round < 5; round++) {
      const reader = `reader-${round}`;
      const ids = Array.from({ length: 4 }, newStandingId);
      const [first, second, ...later] = ids;
      for (const standing_id of [first, second]) {
        await createStanding(sql, { standing_id, to_agent: reader });
      }
      await commitFile(sql, "plan");
      const commits = await Promise.all(
        ["plan", "plan", "report"].map((key) => prepare(sql, { key })),
      );
      await Promise.all([
        ...commits.map((commit) => commit()),
        ...later.map((standing_id) =>
          createStanding(sql, { standing_id, to_agent: reader, existing: true })
        ),
        endStanding(sql, first!),
        callAsService(sql, "remove_agent", { agent_id: reader }),
      ]);
      const stray = await sql`
        select g.grant_id from artifacts.grants g
        join artifacts.standing_grants s using (standing_id)
        where g.live_until > clock_timestamp() and s.live_until <= clock_timestamp()`;
      assert.deepEqual([...stray], []);
      const twice = await sql`
        select from artifacts.grants where standing_id is not null
        group by standing_id, artifact_id having count(*) > 1`;
      assert.equal(twice.length, 0);
      // Those that were made after the removal.
      for (const standing_id of later) await endStanding(sql, standing_id);
    }
    assert.equal(await liveCount(sql), 0);
    assert.equal((await sql`select from agents.removed_agents`).length, 5);
    assert.equal((await commitFile(sql, "plan", { agent: OWNER })).state, "committed");
  });
});
