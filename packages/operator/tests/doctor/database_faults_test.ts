import assert from "node:assert/strict";
import type { Finding } from "../../doctor/findings/finding.ts";
import { runTask } from "../../../local/tests/stack/stack_process.ts";
import { Deployment, remedyIn } from "./deployment.ts";

interface DatabaseFault {
  readonly fault: string;
  readonly put: string;
  readonly mend: string;
  readonly check: string;
  readonly level?: "note" | "fault";
  readonly message: RegExp;
  readonly remedy: RegExp;
}

const DOCTOR = "agentops doctor";
const RECORDS = "supabase_migrations.schema_migrations";

const OTHER_SCHEMA = {
  check: "migrations",
  message:
    /^The database was made by other migrations: \d{14}_release was applied with another name or text\.$/,
  remedy: /^No migration upgrades that database to this checkout\. .* deno task reset\)$/,
};

const FAULTS: readonly DatabaseFault[] = [
  {
    fault: "a migration was not applied",
    put: `update ${RECORDS} set version = '0' || version where name = 'release'`,
    mend: `update ${RECORDS} set version = substr(version, 2) where name = 'release'`,
    check: "migrations",
    message: /^The schema is older than this checkout\. Not applied yet: \d{14}_release\.$/,
    remedy: /^Apply the migrations, .* npx supabase@[\d.]+ db push --remote$/,
  },
  {
    fault: "a migration was applied with another text",
    put: `update ${RECORDS} set statements[1] = '-- ' || statements[1] where name = 'release'`,
    mend: `update ${RECORDS} set statements[1] = substr(statements[1], 4) where name = 'release'`,
    ...OTHER_SCHEMA,
  },
  {
    fault: "a database of before the squash: a migration for each file, and one function less",
    put: `update ${RECORDS} set name = 'agents', statements = '{create schema agents}'
        where name = 'release';
      insert into ${RECORDS} values ('20261121120100', '{create table agents.events ()}', 'agents_events');
      alter function public.agent_api_list_inbox rename to agent_api_list_inbox_before`,
    mend: `alter function public.agent_api_list_inbox_before rename to agent_api_list_inbox;
      delete from ${RECORDS} where name = 'agents_events';
      update ${RECORDS} r set name = before.name, statements = before.statements
      from records_before before where before.version = r.version`,
    ...OTHER_SCHEMA,
  },
  {
    fault: "the bucket is missing",
    put: "update storage.buckets set id = 'elsewhere'",
    mend: "update storage.buckets set id = 'agent-artifacts'",
    check: "bucket",
    message: /^Storage has no bucket agent-artifacts\.$/,
    remedy: /^Make a private bucket of this name/,
  },
  {
    fault: "the last sweep is three days old, and nothing is scheduled",
    put: "update artifacts.sweeps set swept_at = now() - interval '3 days', schedule = null",
    mend: "update artifacts.sweeps set swept_at = now(), schedule = '*/2 * * * *'",
    check: "sweep",
    message: /^The last sweep ended 3 days ago; agent_api_schedule_sweep was never called\.$/,
    remedy: /^Schedule it, .* select public\.agent_api_schedule_sweep\(\); To sweep now: curl /,
  },
  {
    fault: "nobody has swept yet",
    put: `update artifacts.sweeps set swept_at = null, schedule = null,
      installed_at = now() - interval '5 minutes'`,
    mend: "update artifacts.sweeps set swept_at = now(), schedule = '*/2 * * * *'",
    check: "sweep",
    level: "note",
    message: /^Nobody has swept yet; agent_api_schedule_sweep was never called\.$/,
    remedy: /^Schedule it, /,
  },
  {
    fault: "somebody swept an hour ago, and nothing is scheduled",
    put: "update artifacts.sweeps set swept_at = now() - interval '1 hour', schedule = null",
    mend: "update artifacts.sweeps set swept_at = now(), schedule = '*/2 * * * *'",
    check: "sweep",
    level: "note",
    message: /^The last sweep ended 60 minutes ago; agent_api_schedule_sweep was never called\.$/,
    remedy: /^If nothing calls \/sweep regularly, schedule it: /,
  },
];

Deno.test("the doctor of a database with one fault after the other → each alone, with its remedy; mended → nothing", async (test) => {
  await using deployment = await Deployment.open();
  assert.deepEqual(await deployment.complaints(), []);
  await deployment.sql.unsafe(`create temporary table records_before as select * from ${RECORDS}`);
  await test.step("agentops doctor → every check on a line, exit code 0; --json → the same", async () => {
    const environment = { ...deployment.connection };
    const { code, output, errors } = await runTask(DOCTOR, { environment });
    assert.deepEqual([code, errors], [0, ""], output);
    assert.match(output, /^Healthy: 0 faults, 0 notes\.$/m);
    const lines = output.split("\n").map((line) => /^ok +(\S.*?) {2}/.exec(line)?.[1]);
    const json = await runTask(DOCTOR, { args: ["--json"], environment });
    const { healthy, findings } = JSON.parse(json.output);
    assert.deepEqual([json.code, healthy], [0, true]);
    assert.deepEqual(
      findings.map(({ check }: Finding) => check),
      lines.filter((check) => check !== undefined),
    );
    assert.ok(findings.length >= 10);
  });
  for (const { fault, put, mend, check, level = "fault", message, remedy } of FAULTS) {
    await test.step(fault, async () => {
      await deployment.sql.unsafe(put);
      // Of these faults, only a missing bucket also appears in the function's own health check.
      const complaints = (await deployment.complaints())
        .filter((complaint) => complaint.check !== "agent-artifacts");
      await deployment.sql.unsafe(mend);
      assert.deepEqual(complaints.map((found) => [found.check, found.level]), [[check, level]]);
      assert.match(complaints[0]!.message, message);
      assert.match(remedyIn(complaints[0]!), remedy);
    });
  }
  assert.deepEqual(await deployment.complaints(), []);
});
