import assert from "node:assert/strict";
import type { Finding } from "../../operator/doctor/findings/finding.ts";
import { runTask } from "../stack/stack_process.ts";
import { Deployment } from "./deployment.ts";

interface DatabaseFault {
  readonly fault: string;
  readonly put: string;
  readonly mend: string;
  readonly check: string;
  readonly level?: "note" | "fault";
  readonly message: RegExp;
  readonly remedy: RegExp;
}

const DOCTOR = "operator/doctor/main.ts";
const RECORDS = "supabase_migrations.schema_migrations";

const OTHER_SCHEMA = {
  check: "migrations",
  message:
    /^The database was made by another schema: \d{14}_release was applied with another name or text\.$/,
  remedy: /^No migration leads from there to this checkout: .* deno task reset\)$/,
};

const FAULTS: readonly DatabaseFault[] = [
  {
    fault: "a migration was not applied",
    put: `update ${RECORDS} set version = '0' || version where name = 'release'`,
    mend: `update ${RECORDS} set version = substr(version, 2) where name = 'release'`,
    check: "migrations",
    message: /^Not applied yet: \d{14}_release\.$/,
    remedy: /^npx supabase@[\d.]+ db push --remote /,
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
      alter function public.list_inbox rename to list_inbox_before`,
    mend: `alter function public.list_inbox_before rename to list_inbox;
      delete from ${RECORDS} where name = 'agents_events';
      update ${RECORDS} r set name = before.name, statements = before.statements
      from records_before before where before.version = r.version`,
    ...OTHER_SCHEMA,
  },
  {
    fault: "nobody may read which migrations were applied",
    put: `revoke select on ${RECORDS} from service_role`,
    mend: `grant select on ${RECORDS} to service_role`,
    check: "migrations",
    level: "note",
    message: /^Nobody recorded which migrations this database has\.$/,
    remedy: /db push --remote /,
  },
  {
    fault: "the database does not know inspect_deployment",
    put: "alter function public.inspect_deployment(text[]) rename to inspected_before",
    mend: "alter function public.inspected_before(text[]) rename to inspect_deployment",
    check: "migrations",
    message: /^The database does not know inspect_deployment: the newest migrations /,
    remedy: /db push --remote /,
  },
  {
    fault: "a function was dropped, another one's grant revoked",
    put: `alter function public.list_inbox rename to list_inbox_before;
      revoke execute on function public.read_netmap from service_role`,
    mend: `alter function public.list_inbox_before rename to list_inbox;
      grant execute on function public.read_netmap to service_role`,
    check: "SQL functions",
    message: /^service_role cannot call list_inbox, read_netmap: /,
    remedy: /^Run supabase\/schemas\/privileges\.sql /,
  },
  {
    fault: "somebody granted all functions in public to anon",
    put: "grant execute on all functions in schema public to anon",
    mend: "revoke execute on all functions in schema public from anon",
    check: "privileges",
    message: /^Everybody with the publishable key may use after_restore, .* and \d+ more\.$/,
    remedy: /^Run supabase\/schemas\/privileges\.sql .* at once\.$/,
  },
  {
    fault: "anon may use the schema of the keys",
    put: "grant usage on schema agents to anon",
    mend: "revoke usage on schema agents from anon",
    check: "privileges",
    message: /^Everybody with the publishable key may use the schema agents\.$/,
    remedy: /^Run supabase\/schemas\/privileges\.sql /,
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
    fault: "the bucket is public",
    put: "update storage.buckets set public = true",
    mend: "update storage.buckets set public = false",
    check: "bucket",
    message: /^The bucket agent-artifacts is public: /,
    remedy: /^Make it private: /,
  },
  {
    fault: "the bucket takes only some types",
    put: "update storage.buckets set allowed_mime_types = '{image/png,text/plain}'",
    mend: "update storage.buckets set allowed_mime_types = null",
    check: "bucket",
    message: /^The bucket takes only image\/png, text\/plain, /,
    remedy: /^Take its list of allowed MIME types away: /,
  },
  {
    fault: "the limit of the bucket is smaller than that of /register",
    put: "update storage.buckets set file_size_limit = 1000000",
    mend: "update storage.buckets set file_size_limit = null",
    check: "file size",
    message: /^\/register lets in 52428800 bytes, and the limit of the bucket is 1000000\.$/,
    remedy: /^Lower ARTIFACTS_MAX_SIZE_BYTES, or raise the limit of the bucket: /,
  },
  {
    fault: "the last sweep is three days old, and nothing is scheduled",
    put: "update artifacts.sweeps set swept_at = now() - interval '3 days', schedule = null",
    mend: "update artifacts.sweeps set swept_at = now(), schedule = '*/2 * * * *'",
    check: "sweep",
    message: /^The last sweep ended 3 days ago; schedule_sweep was never called\.$/,
    remedy: /^Schedule it, .* select public\.schedule_sweep\(\);$/,
  },
  {
    fault: "the schedule of the sweep does not reach the function",
    put: `update artifacts.sweeps set swept_at = null, schedule = '*/10 * * * *',
      installed_at = now() - interval '30 hours'`,
    mend:
      "update artifacts.sweeps set swept_at = now(), schedule = '*/2 * * * *', installed_at = now()",
    check: "sweep",
    message: /^Nobody has swept for 30 hours; pg_cron was given \*\/10 \* \* \* \*\.$/,
    remedy: /^select \* from net\._http_response /,
  },
  {
    fault: "nobody has swept yet",
    put: `update artifacts.sweeps set swept_at = null, schedule = null,
      installed_at = now() - interval '5 minutes'`,
    mend: "update artifacts.sweeps set swept_at = now(), schedule = '*/2 * * * *'",
    check: "sweep",
    level: "note",
    message: /^Nobody has swept yet; schedule_sweep was never called\.$/,
    remedy: /^Schedule it, /,
  },
  {
    fault: "somebody swept an hour ago, and nothing is scheduled",
    put: "update artifacts.sweeps set swept_at = now() - interval '1 hour', schedule = null",
    mend: "update artifacts.sweeps set swept_at = now(), schedule = '*/2 * * * *'",
    check: "sweep",
    level: "note",
    message: /^The last sweep ended 60 minutes ago; schedule_sweep was never called\.$/,
    remedy: /^If nothing calls \/sweep regularly, schedule it: /,
  },
  {
    fault: "service_role may not call inspect_deployment",
    put: "revoke execute on function public.inspect_deployment from service_role",
    mend: "grant execute on function public.inspect_deployment to service_role",
    check: "SQL functions",
    message: /^service_role cannot call inspect_deployment: /,
    remedy: /^Run supabase\/schemas\/privileges\.sql /,
  },
];

Deno.test("the doctor of a database with one fault after the other → each alone, with its remedy; mended → nothing", async (test) => {
  await using deployment = await Deployment.open();
  assert.deepEqual(await deployment.complaints(), []);
  await deployment.sql.unsafe(`create temporary table records_before as select * from ${RECORDS}`);
  await test.step("deno task doctor → every check on a line, exit code 0; --json → the same", async () => {
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
      // A bucket that is missing, and nothing else here, is also seen by the function's own health.
      const complaints = (await deployment.complaints())
        .filter((complaint) => complaint.check !== "agent-artifacts");
      await deployment.sql.unsafe(mend);
      assert.deepEqual(complaints.map((found) => [found.check, found.level]), [[check, level]]);
      assert.match(complaints[0]!.message, message);
      assert.match(complaints[0]!.remedy!, remedy);
    });
  }
  assert.deepEqual(await deployment.complaints(), []);
});
