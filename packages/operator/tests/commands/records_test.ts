/** Which records `agentops restore after` takes, and what one does that is given again. */
import assert from "node:assert/strict";
import { withOwnStack } from "../../../../tests/database/own_stack.ts";
import { afterRestore, exportedRecord, withFolder } from "./restoring.ts";

Deno.test("after_restore with the same record long after the log has forgotten the first time → ends nothing of an agent that was readmitted since", async () => {
  await withOwnStack(async (own) => {
    const { sql } = own;
    const line = JSON.stringify({
      event_id: "evt_1000000",
      type: "agent.removed",
      at: new Date().toISOString(),
      actor_kind: "operator",
      agent_id: "planner",
    });
    await sql`select public.agent_api_create_agent_key('planner')`;
    const liveKeys = () => sql`select from agents.keys where revoked_at is null`;
    await withFolder(async (folder) => {
      const record = `${folder}/record.jsonl`;
      await Deno.writeTextFile(record, line);
      const first = await afterRestore(own, "--record", record);
      assert.deepEqual([first.code, first.of("replay").length], [0, 1], first.errors);
      assert.equal((await liveKeys()).length, 0);

      await sql`select public.agent_api_readmit_agent('planner')`;
      await sql`select public.agent_api_create_agent_key('planner')`;
      await sql.begin(async (transaction) => {
        // As if the log's retention had passed.
        await transaction`set local session_replication_role = replica`;
        await transaction`delete from agents.events where action = 'ending.replayed'`;
      });
      const again = await afterRestore(own, "--record", record);
      assert.deepEqual([again.code, again.of("replay")], [0, []], again.errors);
      assert.equal((await liveKeys()).length, 1);
    });
  });
});

Deno.test("after_restore --record of another project, alone or among lines of this one → one sentence, and nothing is changed", async () => {
  await withOwnStack(async (own) => {
    const { sql } = own;
    await sql`select public.agent_api_create_agent_key('planner')`;
    await sql`select public.agent_api_remove_agent('planner')`;
    const ours = await exportedRecord(own);
    const projects = ours.split("\n").map((line) => JSON.parse(line).project);
    assert.match(projects[0], /^[0-9a-f]{64}$/);
    assert.deepEqual(new Set(projects).size, 1);

    // After this, the database is another project's.
    await sql`update agents.name_secret set secret = sha256('another project') where only_row`;
    await sql`select public.agent_api_readmit_agent('planner')`;
    await sql`select public.agent_api_create_agent_key('planner')`;
    const theirs = await exportedRecord(own);
    const stateOf = () =>
      sql`
      select (select max(event_id) from agents.events) as event_id,
        (select epoch from agents.epochs) as epoch,
        (select count(*) from agents.keys where revoked_at is null) as keys`;
    const before = await stateOf();
    await withFolder(async (folder) => {
      const record = `${folder}/record.jsonl`;
      for (const text of [ours, `${theirs}\n${ours}`]) {
        await Deno.writeTextFile(record, text);
        for (const options of [[], ["--dry-run"]]) {
          const { code, errors } = await afterRestore(own, "--record", record, ...options);
          assert.equal(code, 1);
          assert.match(errors, /"Nothing was changed: line \d+ of the record comes from another /);
        }
      }
      assert.deepEqual(await stateOf(), before);
      await Deno.writeTextFile(record, theirs);
      const { code, errors } = await afterRestore(own, "--record", record);
      assert.equal(code, 0, errors);
    });
  });
});
