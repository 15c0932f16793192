/** What a migration records as made by migrations, and what it leaves to the doctor. */
import assert from "node:assert/strict";
import { cp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type postgres from "postgres";
import { MIGRATIONS_DIRECTORY } from "../../../packages/local/postgres/migration_files.ts";
import { applyMigrations } from "../../../packages/local/postgres/migrations.ts";
import { STRANGERS } from "../../../packages/operator/tests/doctor/remedies/strangers.ts";
import { openStateDirectory } from "../../../packages/local/tests/stack/stack_process.ts";
import { urlOf, withProjectDatabase } from "../connection.ts";

const BEGIN = "select agents.begin_migration();";
const END = "select agents.record_structure();";

/** What the doctor reports: the names of parts that others made, and of parts that are gone. */
async function reported(sql: postgres.Sql): Promise<{ strange: string[]; missing: string[] }> {
  const [row] = await sql<{ strange: string[]; missing: string[] }[]>`
    select
      array(select s ->> 'part' from json_array_elements(agents.strange_structure()) s) as strange,
      array(select m ->> 'part' from json_array_elements(agents.missing_structure()) m) as missing`;
  return row!;
}

/** Applies a second migration to the database, after those of the project. */
async function migrate(sql: postgres.Sql, text: string): Promise<void> {
  await using directory = await openStateDirectory();
  await cp(fileURLToPath(MIGRATIONS_DIRECTORY), directory.path, { recursive: true });
  await writeFile(join(directory.path, "20991231235959_second.sql"), text);
  await applyMigrations({ databaseUrl: await urlOf(sql), directory: directory.path });
}

/** Touches every table that the strangers are on. */
const TOUCHES = `
  alter table agents.events add column noted text;
  alter table agents.changed_things add column noted text;
  alter table artifacts.artifacts add column noted text not null default 'before';
  create index noted_artifacts on artifacts.artifacts (noted);`;

interface Stranger {
  readonly fault: string;
  readonly put: string;
  /** What the migration does, too. */
  readonly meanwhile?: string;
}

const OTHERS: readonly Stranger[] = [
  ...STRANGERS,
  {
    fault: "an app's trigger calls a function of ours once more",
    put: `create trigger again before update on agents.changed_things
      for each row execute function agents.refuse_changes_to_events()`,
  },
  {
    fault: "an app's unique index on its column, whose type the migration changes",
    put: `alter table agents.key_uses add column team integer;
      create unique index one_team on agents.key_uses ((team || 'x'))`,
    meanwhile: "alter table agents.key_uses alter column team type bigint;",
  },
  {
    fault: "an app builds a unique index, which is not valid yet",
    put: `create unique index building on agents.events (event_id, action);
      update pg_index set indisvalid = false where indexrelid = 'agents.building'::regclass`,
    meanwhile:
      "update pg_index set indisvalid = true where indexrelid = 'agents.building'::regclass;",
  },
];

Deno.test("changes by others to our tables, then a migration that changes these tables → reported as before", async (test) => {
  for (const { fault, put, meanwhile = "" } of OTHERS) {
    await test.step(fault, () =>
      withProjectDatabase({}, async (sql) => {
        await sql.unsafe(put);
        const before = await reported(sql);
        assert.equal(before.strange.length, 1, JSON.stringify(before));
        await migrate(sql, `${BEGIN}\n${TOUCHES}\n${meanwhile}\n${END}`);
        assert.deepEqual(await reported(sql), before);
      }));
  }
});

Deno.test("an app's event trigger gives each table that a migration makes a trigger → reported", async () => {
  await withProjectDatabase({}, async (sql) => {
    await sql.unsafe(`
      create function public.audit() returns trigger language plpgsql
        as $$ begin return null; end $$;
      create function public.audit_all() returns event_trigger language plpgsql as $$
      declare made text;
      begin
        for made in
          select object_identity from pg_event_trigger_ddl_commands() where object_type = 'table'
        loop
          execute format('create trigger audit before insert on %s
            for each row execute function public.audit()', made);
        end loop;
      end $$;
      create event trigger audit_all on ddl_command_end when tag in ('CREATE TABLE')
        execute function public.audit_all()`);
    await migrate(sql, `${BEGIN} create table mesh.notes (note_id bigint primary key); ${END}`);
    assert.deepEqual(await reported(sql), {
      strange: ["trigger audit of mesh.notes"],
      missing: [],
    });
  });
});

Deno.test("a migration renames a table with parts of ours and of others → ours are recorded under the new name, the others reported", async () => {
  await withProjectDatabase({}, async (sql) => {
    await sql.unsafe("create unique index one_each on agents.refusals ((kind || count))");
    await sql.unsafe("alter table agents.refusals add constraint never check (count < 1000)");
    await migrate(sql, `${BEGIN} alter table agents.refusals rename to refused; ${END}`);
    assert.deepEqual(await reported(sql), {
      strange: ["constraint never of agents.refused", "index agents.one_each"],
      missing: [],
    });
  });
});

Deno.test("parts that others dropped or changed, then a migration → reported as before, unless it dropped their table", async () => {
  await withProjectDatabase({}, async (sql) => {
    await sql.unsafe(`
      alter table agents.keys disable row level security;
      drop index agents.events_by_subject;
      alter table mesh.config_versions alter column version set default 7;
      alter table agents.refusals drop constraint refusals_pkey`);
    const before = await reported(sql);
    assert.equal(before.missing.length, 4, JSON.stringify(before));
    await migrate(
      sql,
      `${BEGIN}
      alter table agents.keys add column noted text;
      alter table agents.events add column noted text;
      alter table mesh.config_versions add column noted text;
      drop table agents.refusals cascade;
      ${END}`,
    );
    const missing = before.missing.filter((part) => !part.includes("refusals"));
    assert.equal(missing.length, 3);
    assert.deepEqual(await reported(sql), { strange: [], missing });
  });
});

Deno.test("what a migration makes, changes and drops → recorded: the doctor reports what is gone of it later", async () => {
  await withProjectDatabase({}, async (sql) => {
    await migrate(
      sql,
      `${BEGIN}
      create table mesh.notes (note_id bigint primary key, note text not null);
      create unique index notes_by_note on mesh.notes (note);
      create trigger count_notes after insert on mesh.notes
        for each row execute function agents.refuse_changes_to_events();
      alter table mesh.notes add constraint note_is_short check (length(note) < 9);
      alter table mesh.config_versions alter column version set default 7;
      drop index agents.events_by_subject;
      ${END}`,
    );
    assert.deepEqual(await reported(sql), { strange: [], missing: [] });
    await sql.unsafe(`
      drop index mesh.notes_by_note;
      drop trigger count_notes on mesh.notes;
      alter table mesh.notes drop constraint note_is_short, alter column note drop not null;
      alter table mesh.config_versions alter column version set default 0`);
    assert.deepEqual(await reported(sql), {
      strange: [],
      missing: [
        "constraint note_is_short of mesh.notes",
        "default of mesh.config_versions.version",
        "index mesh.notes_by_note",
        "not null of mesh.notes.note",
        "trigger count_notes of mesh.notes",
      ],
    });
  });
});

Deno.test("a migration that does not say when it begins → refused, and nothing changed", async () => {
  await withProjectDatabase({}, async (sql) => {
    const state = () =>
      sql`select s::text from agents.structure s union all select oid::text from pg_class order by 1`;
    const before = await state();
    await assert.rejects(
      migrate(sql, `create table mesh.notes (note_id bigint primary key); ${END}`),
      /the migration did not begin with agents\.begin_migration\(\)/,
    );
    assert.deepEqual(await state(), before);
  });
});

Deno.test("a migration without a transaction, which fails halfway and then runs again → all that it made is its own", async () => {
  await withProjectDatabase({}, async (sql) => {
    await sql.unsafe("create unique index one_each on agents.events ((action || event_id))");
    await sql.unsafe(BEGIN);
    await sql.unsafe("create unique index once on agents.events (event_id, action)");
    await sql.unsafe(BEGIN);
    await sql.unsafe("alter table agents.events add constraint has_id check (event_id > 0)");
    await sql.unsafe(END);
    assert.deepEqual(await reported(sql), { strange: ["index agents.one_each"], missing: [] });
    assert.deepEqual([...await sql`select from agents.structure_before`], []);
  });
});
