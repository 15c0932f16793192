/** Which changes `deno task schema:diff` sees, and how it reports them. */
import assert from "node:assert/strict";
import type postgres from "postgres";
import { type Catalogue, readCatalogue } from "../../../dev/schema/catalogue.ts";
import { compareCatalogues } from "../../../dev/schema/differences.ts";
import { withProjectDatabase } from "../connection.ts";

/** Runs `use` in a transaction of the role that runs migrations, and rolls back. */
async function undone(
  sql: postgres.Sql,
  use: (transaction: postgres.TransactionSql) => Promise<void>,
): Promise<void> {
  const rollBack = new Error("undone");
  await sql.begin(async (transaction) => {
    await transaction`set local role postgres`;
    await use(transaction);
    throw rollBack;
  }).catch((cause: unknown) => {
    if (cause !== rollBack) throw cause;
  });
}

/** The reported differences if the migrations create `before` and the schemas add `change`. */
async function differencesAfter(
  sql: postgres.Sql,
  change: string,
  before?: Catalogue,
): Promise<string[]> {
  let differences: string[] = [];
  await undone(sql, async (transaction) => {
    const migrations = before ?? await readCatalogue(transaction);
    await transaction.unsafe(change);
    differences = compareCatalogues({ migrations, schemas: await readCatalogue(transaction) });
  });
  return differences;
}

Deno.test("readCatalogue() sees a change of each kind", async () => {
  const changes: Record<string, string> = {
    "column agents.keys.label": "alter table agents.keys alter label set default 'x'",
    "column mesh.peers.endpoint": "comment on column mesh.peers.endpoint is 'x'",
    "constraint port_is_a_port of mesh.rules":
      "alter table mesh.rules drop constraint port_is_a_port",
    "constraint agent_id_is_well_formed of agents.agent_id":
      "alter domain agents.agent_id drop constraint agent_id_is_well_formed",
    "domain agents.agent_id": "comment on domain agents.agent_id is 'x'",
    "function mesh.lock_addresses()": "grant execute on function mesh.lock_addresses() to anon",
    "function public.agent_api_check_health()":
      "create or replace function public.agent_api_check_health() returns json language sql return null::json",
    "index mesh.resting_address_leases": "drop index mesh.resting_address_leases",
    "schema mesh": "grant usage on schema mesh to anon",
    "schema fresh": "create schema fresh",
    "table fresh.things": "create schema fresh create table things ()",
    "table artifacts.grants": "alter table artifacts.grants disable row level security",
    "table mesh.settings": "reset role; alter table mesh.settings owner to supabase_admin",
    "type artifacts.share": "comment on type artifacts.share is 'x'",
    "column artifacts.share.added": "alter type artifacts.share add attribute added text",
    "trigger networks_change_only_without_peers of mesh.settings":
      "alter table mesh.settings disable trigger networks_change_only_without_peers",
    "policy everybody of mesh.rules": "create policy everybody on mesh.rules",
  };
  await withProjectDatabase({}, async (sql) => {
    const before = await readCatalogue(sql);
    for (const [name, change] of Object.entries(changes)) {
      const differences = await differencesAfter(sql, change, before);
      assert.ok(
        differences.some((line) => line.startsWith(`${name}:`)),
        `${change}: ${differences}`,
      );
    }
    assert.deepEqual(
      compareCatalogues({ migrations: await readCatalogue(sql), schemas: before }),
      [],
    );
  });
});

// PostgreSQL 18 names the not-null constraints of tables, after the column's first name.
Deno.test("schema:diff of a column that is not null, made with another name and renamed → no difference", async () => {
  await withProjectDatabase({}, async (sql) => {
    let made: Catalogue | undefined;
    await undone(sql, async (transaction) => {
      await transaction`create table agents.things (a integer not null)`;
      made = await readCatalogue(transaction);
    });
    const renamed = "create table agents.things (b integer not null);" +
      "alter table agents.things rename column b to a";
    assert.deepEqual(await differencesAfter(sql, renamed, made), []);
  });
});

Deno.test("schema:diff of a column that one side has, or has with another default → a line, or two", async () => {
  await withProjectDatabase({}, async (sql) => {
    assert.deepEqual(
      await differencesAfter(sql, "alter table mesh.peers add column noted text"),
      ["column mesh.peers.noted: in supabase/schemas, not made by the migrations."],
    );
    assert.deepEqual(
      await differencesAfter(sql, "alter table agents.keys alter label set default 'none'"),
      ["column agents.keys.label:\n  + default: 'none'::text"],
    );
  });
});

Deno.test("schema:diff of tables with the same columns and grants, made in another order → nothing", async () => {
  await withProjectDatabase({}, async (sql) => {
    await undone(sql, async (transaction) => {
      await transaction.unsafe(`
        create table mesh.notes (about text, note text);
        grant select on mesh.notes to anon;
        grant insert on mesh.notes to service_role`);
      const migrations = await readCatalogue(transaction);
      await transaction.unsafe(`
        drop table mesh.notes;
        create table mesh.notes (note text, dropped integer, about text);
        alter table mesh.notes drop column dropped;
        grant insert on mesh.notes to service_role;
        grant select on mesh.notes to anon`);
      const schemas = await readCatalogue(transaction);
      assert.ok(schemas.has("column mesh.notes.about"));
      assert.deepEqual(compareCatalogues({ migrations, schemas }), []);
    });
  });
});

Deno.test("schema:diff of a function that a migration recreates without its privileges → each in words, with the statement; these statements → no difference", async () => {
  const name =
    "function public.agent_api_revoke_rule(caller jsonb, from_agent text, to_agent text, port integer, proto text)";
  await withProjectDatabase({}, async (sql) => {
    const schemas = await readCatalogue(sql);
    await undone(sql, async (transaction) => {
      const [found] = await transaction`
        select pg_get_functiondef(oid) as definition, obj_description(oid, 'pg_proc') as comment
        from pg_proc where proname = 'agent_api_revoke_rule'`;
      const definition = (found!["definition"] as string).replace(/^ SET lock_timeout .*\n/m, "");
      await transaction.unsafe(`drop ${name}`);
      await transaction.unsafe(definition);
      await transaction.unsafe(
        `comment on ${name} is '${(found!["comment"] as string).replaceAll("'", "''")}'`,
      );
      const [difference, ...others] = compareCatalogues({
        migrations: await readCatalogue(transaction),
        schemas,
      });
      assert.deepEqual(others, []);
      const statements = [
        `revoke execute on ${name} from anon, authenticated, public;`,
        `alter ${name} set lock_timeout to '1s';`,
      ];
      assert.deepEqual(difference!.split("\n"), [
        `${name}:`,
        `  The migrations let anon, authenticated, public execute it: ${statements[0]}`,
        `  The migrations leave it without its lock_timeout: ${statements[1]}`,
      ]);
      for (const statement of statements) await transaction.unsafe(statement);
      assert.deepEqual(
        compareCatalogues({ migrations: await readCatalogue(transaction), schemas }),
        [],
      );
    });
  });
});
