/** The sweep forgets the names of agents that ended long ago, in steps. */
import assert from "node:assert/strict";
import { withProjectDatabase } from "../connection.ts";

Deno.test("forget_enrolled of three names that left nothing, one at a time → remaining says that more are due, until all are forgotten", async () => {
  await withProjectDatabase({}, async (sql) => {
    const enrolment_id = `enr_${"0".repeat(32)}`;
    await sql`
      insert into agents.enrolments (enrolment_id, kind, key_hash, session_seconds)
      values (${enrolment_id}, 'key', ${"0".repeat(64)}, 60)`;
    for (const name of ["job-1", "job-2", "job-3"]) {
      await sql`
        insert into agents.enrolled_agents (agent_id, enrolment_id, generation, enrolled_at, ended_at)
        values (${name}, ${enrolment_id}, 1, now() - interval '50 days', now() - interval '40 days')`;
      await sql`insert into agents.names (agent_id, ways) values (${name}, array[${enrolment_id}])`;
    }
    const left: number[] = [];
    for (let step = 0; step < 3; step++) {
      const [row] = await sql`
        select public.agent_api_forget_enrolled('{"kind": "operator"}', 1) as forgotten`;
      left.push(row!["forgotten"].remaining);
    }
    assert.deepEqual(left, [2, 1, 0]);
    assert.deepEqual([...await sql`select agent_id from agents.names`], []);
  });
});
