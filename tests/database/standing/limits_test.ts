/** How many standing grants there may be, and what ends them and their grants. */
import assert from "node:assert/strict";
import type postgres from "postgres";
import { callAsService, withProjectDatabase } from "../connection.ts";
import { commitFile, OPERATOR } from "../versions/committing.ts";
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

async function refusedBy(sql: postgres.Sql, parameters: Record<string, unknown>) {
  const events = () => sql`select from agents.events`;
  const before = [(await events()).length, await liveCount(sql), await grantedTo(sql)];
  const error = await callAsService(sql, "create_standing_grant", parameters).then(
    () => assert.fail("not refused"),
    (error: { message: string; detail: string }) => error,
  );
  assert.deepEqual([(await events()).length, await liveCount(sql), await grantedTo(sql)], before);
  return [error.message, JSON.parse(error.detail).limit, JSON.parse(error.detail).maximum];
}

Deno.test("one standing grant more than an agent may have → limit_exceeded, nothing is made; another agent may, and the same agent once one has ended", async () => {
  await withProjectDatabase({}, async (sql) => {
    const ids = [newStandingId(), newStandingId(), newStandingId()];
    for (const standing_id of ids) await createStanding(sql, { standing_id, max_standing: 3 });
    assert.deepEqual(
      await refusedBy(sql, creation({ max_standing: 3 })),
      ["limit_exceeded", "standing_grants", 3],
    );
    await createStanding(sql, { agent_id: "other", max_standing: 3 });
    await endStanding(sql, ids[0]!);
    await createStanding(sql, { max_standing: 3 });
  });
});

Deno.test("1,000 standing grants of an agent → the next is refused", async () => {
  await withProjectDatabase({}, async (sql) => {
    await sql`
      insert into artifacts.standing_grants (standing_id, from_agent, covered_name, is_prefix, to_agent, expires_at)
      select 'standing_' || md5(i::text), ${OWNER}, 'a/' || i, true, ${READER}, now() + interval '1 hour'
      from generate_series(1, 1000) i`;
    assert.deepEqual(
      await refusedBy(sql, creation()),
      ["limit_exceeded", "standing_grants", 1000],
    );
  });
});

Deno.test("existing with more files than one call grants, or one that has all its live grants → limit_exceeded, and nothing is made", async () => {
  await withProjectDatabase({}, async (sql) => {
    for (const key of ["a/1", "a/2", "b"]) await commitFile(sql, key);
    const existing = { name: "a/", existing: true };
    assert.deepEqual(
      await refusedBy(sql, creation({ ...existing, max_existing: 1 })),
      ["limit_exceeded", "existing_artifacts", 1],
    );
    await createStanding(sql, { ...existing, max_existing: 2 });
    assert.equal((await grantedTo(sql)).length, 2);
    assert.deepEqual(
      await refusedBy(sql, creation({ ...existing, max_live_grants: 1 })),
      ["limit_exceeded", "live_grants", 1],
    );
    await createStanding(sql, { name: "b", existing: true, max_live_grants: 1 });
  });
});

Deno.test("/standing/end of more than 500 grants → calls of 500, until nothing is left; no commit after the first is granted", async () => {
  await withProjectDatabase({}, async (sql) => {
    const standing_id = await createStanding(sql);
    const { artifact_id } = await commitFile(sql, "plan");
    await sql`
      insert into artifacts.grants (grant_id, artifact_id, from_agent, to_agent, token_hash, expires_at, standing_id)
      select 'grant_' || md5(i::text), ${artifact_id}, ${OWNER}, ${READER}, md5(i::text) || md5(i::text),
        now() + interval '1 hour', ${standing_id}
      from generate_series(1, 1100) i`;
    const calls = [];
    for (let remaining = true; remaining;) {
      const ended = await endStanding(sql, standing_id);
      calls.push([ended.ended, ended.revoked, ended.remaining]);
      ({ remaining } = ended);
      await commitFile(sql, "later");
    }
    assert.deepEqual(calls, [[true, 500, true], [false, 500, true], [false, 101, false]]);
    assert.deepEqual(await grantedTo(sql), []);
    const [told] = await sql`
      select count(*)::integer as count from agents.events where action = 'grant.revoked'`;
    assert.equal(told!["count"], 1101);
  });
});

Deno.test("the owner is removed → its standing grants end, and so do their grants; those of others stay", async () => {
  await withProjectDatabase({}, async (sql) => {
    await createStanding(sql);
    await createStanding(sql, { to_agent: null, to_tag: "tag:builder", is_shared: true });
    const other = await createStanding(sql, { agent_id: "other" });
    await commitFile(sql, "plan");
    const { artifact_id } = await commitFile(sql, "plan", { agent: "other" });
    assert.equal((await grantedTo(sql)).length, 2);
    const removed = await callAsService(sql, "remove_agent", { agent_id: OWNER });
    assert.deepEqual([removed["grants"], removed["remaining"]], [2, false]);
    assert.deepEqual(await grantedTo(sql), [artifact_id]);
    const live = await sql`
      select standing_id from artifacts.standing_grants where live_until > clock_timestamp()`;
    assert.deepEqual(live.map((row) => row["standing_id"]), [other]);
    const told = await sql`
      select subject_agent_id, other_agent_id from agents.events
      where action = 'standing.ended' order by event_id`;
    assert.deepEqual(
      told.map((row) => [row["subject_agent_id"], row["other_agent_id"]]).sort(),
      [[READER, OWNER], [null, OWNER]].sort(),
    );
  });
});

Deno.test("the owner is removed with more standing grants than one call ends → the next calls end the rest", async () => {
  await withProjectDatabase({}, async (sql) => {
    for (let made = 0; made < 3; made++) await createStanding(sql);
    const remove = () => callAsService(sql, "remove_agent", { agent_id: OWNER, max_entries: 2 });
    assert.equal((await remove())["remaining"], true);
    assert.equal((await remove())["remaining"], false);
    assert.equal(await liveCount(sql), 0);
  });
});

Deno.test("the sweep → deletes what ended a month ago, but no standing grant whose grants are live", async () => {
  await withProjectDatabase({}, async (sql) => {
    const [over, kept] = [
      await createStanding(sql, { name: "over/" }),
      await createStanding(sql, { name: "kept/" }),
    ];
    await commitFile(sql, "kept/plan");
    await sql`update artifacts.standing_grants set ended_at = now() - interval '40 days'`;
    await callAsService(sql, "forget_ended", { caller: OPERATOR, max_entries: 100 });
    const left = await sql`select standing_id from artifacts.standing_grants`;
    assert.deepEqual(left.map((row) => row["standing_id"]), [kept]);
    await assert.rejects(endStanding(sql, over), /grant_not_found/);
    assert.deepEqual((await endStanding(sql, kept)).revoked, 1);
  });
});
