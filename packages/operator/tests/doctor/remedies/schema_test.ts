import assert from "node:assert/strict";
import type { MissingPart } from "../../../doctor/facts/structure.ts";
import { Deployment } from "../deployment.ts";
import { mendAsPrinted } from "./printed.ts";

let deployment: Deployment;

// Each test leaves it healthy for the next one, except the last, which drops a schema.
Deno.test.beforeAll(async () => {
  deployment = await Deployment.open();
});
Deno.test.afterAll(() => deployment[Symbol.asyncDispose]());

Deno.test("everything that the migrations made → recorded", async () => {
  const unrecorded = await deployment.sql`
    select p.part from agents.present_structure() p
    where p.part not in (select s.part from agents.structure s)`;
  assert.deepEqual([...unrecorded], []);
});

Deno.test("parts made again from their statements, as a restore makes them, in a session with other settings → the same as recorded", async () => {
  const made = await deployment.sql.begin(async (sql) => {
    await sql.unsafe(`set local quote_all_identifiers = on; set local intervalstyle = iso_8601;
      set local datestyle = 'SQL, DMY'; set local timezone = 'Asia/Kolkata'`);
    const parts = await sql`
      select s.statement from agents.structure s
      where s.part ~ '^(trigger|default|expression|index) '
        or s.part ~ '^constraint ' and s.statement ~* ' check [(]'`;
    for (const { statement } of parts) await sql.unsafe(statement);
    assert.deepEqual((await sql`select agents.missing_structure() as missing`)[0]!.missing, []);
    return parts.length;
  });
  assert.ok(made > 150, `${made} parts`);
  assert.deepEqual(await deployment.complaints(), []);
});

Deno.test("the statement for each generated column without its expression → a column as before, or, because functions use it, an error and nothing changed", async () => {
  const { sql } = deployment;
  const columns = await sql`
    select part, substring(statement from '^alter table .* alter column [^ ]+ ') as alter_column
    from agents.structure where part like 'expression of %'`;
  let made = 0;
  const rollBack = new Error("rolled back");
  for (const { part, alter_column } of columns) {
    await sql.begin(async (sql) => {
      const missing = async (): Promise<MissingPart[]> =>
        (await sql`select agents.missing_structure() as missing`)[0]!["missing"];
      await sql.unsafe(`${alter_column} drop expression`);
      const [dropped, ...others] = await missing();
      assert.deepEqual([dropped!.part, others], [part, []]);
      try {
        await sql.savepoint((sql) => sql.unsafe(dropped!.statement));
      } catch (error) {
        assert.match(String(error), /cannot drop column .* because other objects depend on it$/);
        assert.deepEqual(await missing(), [dropped]);
        throw rollBack;
      }
      for (const { part, statement } of await missing()) {
        assert.match(part, /^(index|constraint) /);
        await sql.unsafe(statement);
      }
      assert.deepEqual(await missing(), []);
      made++;
      throw rollBack;
    }).catch((error) => assert.equal(error, rollBack));
  }
  assert.ok(made >= 5, `${made} of ${columns.length} columns`);
  assert.deepEqual(await deployment.complaints(), []);
});

Deno.test("the schema of an earlier checkout, whose inspect_deployment tells less → one fault, that the functions are older", async () => {
  const complaints = await deployment.complaintsThrough(async ({ path }, forward) => {
    if (!path.endsWith("/rpc/agent_api_inspect_deployment")) return undefined;
    const told = await (await forward()).json();
    for (const field of ["functions", "missing_structure", "policies", "unprotected_storage"]) {
      delete told[field];
    }
    return Response.json(told);
  });
  assert.deepEqual(complaints.map(({ check }) => check), ["schema"]);
  assert.match(complaints[0]!.message, /^The schema is older than this checkout, /);
});

Deno.test("tables of the platform and of an app beside ours → healthy", async () => {
  await deployment.sql.unsafe(`
    set role postgres;
    create table public.agents (id bigint primary key, name text not null unique);
    create table public.runs (agent bigint references public.agents, artifact_id text not null);
    create function public.note_run() returns trigger language plpgsql security definer
      as $$ begin return new; end $$;
    create trigger note_run after insert on public.runs
      for each row execute function public.note_run();
    create function public.count_runs() returns bigint language sql security definer
      as $$ select count(*) from public.agents join public.runs on true $$;
    create view public.my_keys with (security_invoker = yes) as select key_id from agents.keys;
    create view public.my_files with (security_invoker) as select key from artifacts.artifacts;
    create role reports;
    grant reports to service_role;
    reset role`);
  assert.deepEqual(await deployment.complaints(), []);
  await deployment.sql.unsafe(`
    drop view public.my_keys, public.my_files;
    drop function public.count_runs();
    drop table public.runs, public.agents;
    drop function public.note_run();
    revoke reports from service_role;
    drop role reports`);
});

Deno.test("the schema is newer than this checkout, as after a rollback → a note that names what it also has", async () => {
  await deployment.sql.unsafe(
    `create function mesh.of_a_later_release() returns integer language sql return 1;
    revoke all on function mesh.of_a_later_release from public`,
  );
  const [complaint, ...others] = await deployment.complaints();
  assert.deepEqual(others, []);
  assert.deepEqual([complaint!.check, complaint!.level], ["schema", "note"]);
  assert.match(
    complaint!.message,
    /newer than this checkout: it also has mesh\.of_a_later_release\./,
  );
  await deployment.sql`drop function mesh.of_a_later_release()`;
});

Deno.test("the expression of a generated column was dropped → a fault that says what a statement can do; pasted, then those of the indexes: healthy", async () => {
  await deployment.sql`alter table mesh.rules alter column origin drop expression`;
  const [complaint, ...others] = await deployment.complaints();
  assert.deepEqual(others, []);
  assert.deepEqual([complaint!.check, complaint!.level], ["structure", "fault"]);
  assert.equal(
    complaint!.message,
    "Missing since the last migration: expression of mesh.rules.origin.",
  );
  assert.match(complaint!.remedy!, /^PostgreSQL cannot give the column its expression back\. /);
  await mendAsPrinted(deployment, [complaint!]);
  for (const gone of await deployment.complaints()) {
    assert.match(gone.message, /^Missing since the last migration: (index|constraint) /);
    await mendAsPrinted(deployment, [gone]);
  }
  assert.deepEqual(await deployment.complaints(), []);
});

Deno.test("the schema of a release before this one: many functions differ → one fault, that it is older", async () => {
  await deployment.sql.unsafe("drop schema mesh cascade");
  const complaints = (await deployment.complaints()).filter(({ check }) => check === "schema");
  assert.equal(complaints.length, 1);
  assert.match(complaints[0]!.message, /^The schema is older than this checkout, or was edited: /);
  assert.match(complaints[0]!.paste!.text, /db push --remote$/);
});
