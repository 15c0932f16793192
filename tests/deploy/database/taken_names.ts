/** A project whose app has an object of every name that our functions in `public` have. */
import type postgres from "postgres";
import { applyMigrations } from "../../../packages/local/postgres/migrations.ts";
import {
  namesOfOperations,
  readSchemaFiles,
} from "../../../packages/local/postgres/schema_files.ts";
import { openProjectDatabase } from "./project_database.ts";

const PREFIX = /^agent_api_/;

/** The statements that make one object of this name. */
const MAKING = {
  table: (name: string) =>
    `create table public.${name} (id bigint primary key, note text default 'app');`,
  view: (name: string) => `create view public.${name} as select 1 as id, 'app' as note;`,
  type: (name: string) => `create type public.${name} as enum ('app', 'other');`,
} as const;

export type RelationKind = keyof typeof MAKING;
export const RELATION_KINDS = Object.keys(MAKING) as RelationKind[];

/** The names without the prefix. */
export async function takenNames(): Promise<string[]> {
  return namesOfOperations(await readSchemaFiles()).map((name) => name.replace(PREFIX, ""));
}

/**
 * SQL that takes each name three times: by a function with the signature of ours, by one with
 * another signature, and by a table, a view or a type. `kindOf` chooses which.
 */
export async function takeNames(kindOf: (index: number) => RelationKind): Promise<string> {
  const signatures = await readSignatures();
  return (await takenNames()).flatMap((name, index) => [
    `create function public.${name}(${signatures.get(name)}) returns json
       language sql as $$ select json_build_object('app', '${name}') $$;`,
    `create function public.${name}(place point, of_the_app boolean) returns text
       language plpgsql as $$ begin return 'app'; end $$;`,
    MAKING[kindOf(index)](name),
  ]).join("\n");
}

/** The parameters of each of our functions, with their defaults, by its name without the prefix. */
async function readSignatures(): Promise<ReadonlyMap<string, string>> {
  await using database = await openProjectDatabase();
  await applyMigrations({ databaseUrl: database.url });
  const rows = await database.sql<{ name: string; parameters: string }[]>`
    select p.proname as name, pg_get_function_arguments(p.oid) as parameters
    from pg_proc p
    where p.pronamespace = 'public'::regnamespace`;
  return new Map(rows.map(({ name, parameters }) => [name.replace(PREFIX, ""), parameters]));
}

/**
 * Every object of the database outside PostgreSQL's own schemas and the CLI's records, with what
 * defines it: text, owner, privileges and comment.
 */
export async function readObjects(sql: postgres.Sql): Promise<Record<string, string>> {
  const rows = await sql<{ name: string; definition: string }[]>`
    with schemas as (
      select n.oid, n.nspname from pg_namespace n
      where n.nspname !~ '^(pg_|information_schema$|supabase_migrations$)'
    )
    select 'schema ' || s.nspname as name,
      concat_ws(' ', n.nspowner::regrole, n.nspacl, obj_description(n.oid, 'pg_namespace')) as definition
    from schemas s join pg_namespace n using (oid)
    union all
    select 'function ' || p.oid::regprocedure,
      concat_ws(' ', case when p.prokind = 'f' then pg_get_functiondef(p.oid) end,
        p.proowner::regrole, p.proacl, obj_description(p.oid, 'pg_proc'))
    from pg_proc p join schemas s on s.oid = p.pronamespace
    union all
    select 'relation ' || s.nspname || '.' || c.relname,
      concat_ws(' ', c.relkind, c.relowner::regrole, c.relacl, c.relrowsecurity,
        case when c.relkind = 'v' then pg_get_viewdef(c.oid) end,
        (select string_agg(concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
            pg_get_expr(d.adbin, d.adrelid)), ', ' order by a.attnum)
          from pg_attribute a
          left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
          where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped))
    from pg_class c join schemas s on s.oid = c.relnamespace
    union all
    select 'type ' || s.nspname || '.' || t.typname,
      concat_ws(' ', t.typtype, t.typowner::regrole, t.typacl,
        (select string_agg(e.enumlabel, ', ' order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid))
    from pg_type t join schemas s on s.oid = t.typnamespace
    union all
    select 'constraint ' || k.conname || ' of ' || case when k.conrelid = 0 then k.contypid::regtype::text else k.conrelid::regclass::text end,
      pg_get_constraintdef(k.oid)
    from pg_constraint k join schemas s on s.oid = k.connamespace
    union all
    select 'trigger ' || g.tgname || ' of ' || g.tgrelid::regclass, pg_get_triggerdef(g.oid)
    from pg_trigger g where not g.tgisinternal
    union all
    select 'policy ' || p.polname || ' of ' || p.polrelid::regclass, p.polcmd::text
    from pg_policy p`;
  return Object.fromEntries(rows.map(({ name, definition }) => [name, definition]));
}
