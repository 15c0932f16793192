/** Runs docs/backup.md, From a dump, between two older projects. */
import assert from "node:assert/strict";
import postgres from "postgres";
import { createProjectDatabase } from "../../../packages/local/postgres/platform.ts";
import {
  databaseUrl,
  SUPERUSER_URL,
  urlOf,
  withProjectDatabase,
  withStackDatabase,
} from "../../database/connection.ts";
import { documentedBlock } from "../../docs/blocks/documentation.ts";
import { Terminal } from "../../docs/blocks/terminal.ts";
import { installPostgresPrograms } from "./postgres_programs.ts";

/** What anyone but the owner may do with each of the service's objects. */
async function privilegesOf(sql: postgres.Sql): Promise<readonly string[]> {
  const rows = await sql<{ line: string }[]>`
    with acls as (
      select p.oid::regprocedure::text as name,
        -- Without an ACL, everybody may execute a function.
        coalesce(p.proacl, '{=X/postgres}'::aclitem[]) as acl,
        p.pronamespace as schema
      from pg_catalog.pg_proc p
      union all
      select c.oid::regclass::text, c.relacl, c.relnamespace from pg_catalog.pg_class c
      where c.relkind in ('r', 'S', 'v')
      union all
      select n.nspname, n.nspacl, n.oid from pg_catalog.pg_namespace n
    )
    select concat_ws(' ', a.name, coalesce(r.rolname, 'everybody'), e.privilege_type) as line
    from acls a
    cross join aclexplode(a.acl) e
    left join pg_catalog.pg_roles r on r.oid = e.grantee
    where a.schema::regnamespace::text in ('agents', 'artifacts', 'mesh', 'public')
      and a.name not in ('public')
      and r.rolname is distinct from 'postgres'
    order by 1`;
  return rows.map(({ line }) => line);
}

Deno.test("docs/backup.md, From a dump → every row, and the privileges of the old project; pg_restore alone opens every function to anyone", async () => {
  await withProjectDatabase({ defaultPrivileges: "older" }, async (source) => {
    await source`select public.agent_api_create_agent_key('planner')`;
    const name = `restored_${crypto.randomUUID().replaceAll("-", "_")}`;
    const owned = new URL(
      await createProjectDatabase({
        superuserUrl: SUPERUSER_URL,
        name,
        defaultPrivileges: "older",
      }),
    );
    const target = postgres(databaseUrl(name), { max: 1, onnotice: () => {} });
    const folder = await Deno.makeTempDir();
    try {
      const programs = await installPostgresPrograms(folder);
      await using terminal = await Terminal.open({
        environment: {
          DATABASE_URL: await urlOf(source),
          NEW_DATABASE_URL: owned.href,
          PATH: `${programs}:${Deno.env.get("PATH")}`,
        },
      });
      await terminal.paste(await documentedBlock("docs/backup.md, From a dump, 1"));
      const restoring = await documentedBlock("docs/backup.md, From a dump, 2");
      const lines = restoring.trim().split("\n");
      await terminal.paste(`${lines.slice(0, -1).join("\n")}\n`);
      const before = await privilegesOf(source);
      const opened = (await privilegesOf(target)).filter((line) => !before.includes(line));
      const functions = opened.filter((line) => / anon EXECUTE$/.test(line));
      assert.ok(functions.length > 100, `${functions.length}`);

      const closed = await terminal.paste(`${lines.at(-1)}\n`);
      assert.equal(Number(closed), functions.length);
      assert.deepEqual(await privilegesOf(target), before);
      const keys = await target`select agent_id from agents.keys`;
      assert.deepEqual([...keys], [{ agent_id: "planner" }]);
    } finally {
      await target.end();
      await withStackDatabase((sql) => sql`drop database ${sql(name)} with (force)`);
      await Deno.remove(folder, { recursive: true });
    }
  });
});
