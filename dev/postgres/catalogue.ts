import type postgres from "postgres";

/**
 * What a database has of the project: by what it is, such as `column mesh.peers.pubkey`, all that
 * defines it.
 */
export type Catalogue = ReadonlyMap<string, string>;

/** The schemas that hold nothing but the project's own. In `public`, only the functions are. */
const OWN_SCHEMAS = ["agents", "artifacts", "mesh"];

/**
 * Reads everything that the project defines: schemas, tables, composite types, columns, domains,
 * constraints, indexes, sequences, functions and triggers, each with its owner, privileges and
 * comment.
 */
export async function readCatalogue(
  sql: postgres.Sql | postgres.TransactionSql,
): Promise<Catalogue> {
  const rows = await sql<{ name: string; definition: string }[]>`
    with own_schemas as (
      select n.* from pg_namespace n where n.nspname in ${sql(OWN_SCHEMAS)}
    ), relations as (
      select c.* from pg_class c join own_schemas n on n.oid = c.relnamespace
    ), functions as (
      select p.* from pg_proc p
      join pg_namespace n on n.oid = p.pronamespace
      where (n.nspname = 'public' or n.nspname in ${sql(OWN_SCHEMAS)})
        and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
    )
    select format('schema %I', n.nspname) as name,
      concat_ws(E'\\n', n.nspowner::regrole, n.nspacl, obj_description(n.oid, 'pg_namespace')) as definition
    from own_schemas n
    union all
    select format('%s %s', case c.relkind when 'S' then 'sequence' when 'i' then 'index' when 'c' then 'type' else 'table' end, c.oid::regclass),
      concat_ws(
        E'\\n', c.relkind, c.relowner::regrole, c.relacl, c.reloptions, c.relrowsecurity, c.relforcerowsecurity,
        c.relpersistence, pg_get_indexdef(i.indexrelid), obj_description(c.oid, 'pg_class'), obj_description(c.reltype, 'pg_type')
      )
    from relations c
    left join pg_index i on i.indexrelid = c.oid
    union all
    select format('column %s.%I', c.oid::regclass, a.attname),
      concat_ws(
        E'\\n', a.attnum, format_type(a.atttypid, a.atttypmod), a.attcollation::regcollation, a.attnotnull,
        a.attidentity, a.attgenerated, pg_get_expr(d.adbin, d.adrelid), a.attacl, a.attoptions,
        col_description(c.oid, a.attnum)
      )
    from relations c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relkind in ('r', 'c')
    union all
    select format('domain %s', t.oid::regtype),
      concat_ws(
        E'\\n', t.typowner::regrole, t.typacl, format_type(t.typbasetype, t.typtypmod), t.typcollation::regcollation,
        t.typnotnull, t.typdefault, obj_description(t.oid, 'pg_type')
      )
    from pg_type t
    join own_schemas n on n.oid = t.typnamespace
    where t.typtype = 'd'
    union all
    select format('constraint %I of %s', k.conname, coalesce(nullif(k.conrelid, 0)::regclass::text, k.contypid::regtype::text)),
      concat_ws(E'\\n', pg_get_constraintdef(k.oid), k.convalidated, obj_description(k.oid, 'pg_constraint'))
    from pg_constraint k
    join own_schemas n on n.oid = k.connamespace
    union all
    select format('function %I.%I(%s)', p.pronamespace::regnamespace, p.proname, pg_get_function_identity_arguments(p.oid)),
      concat_ws(
        E'\\n', p.proowner::regrole, p.proacl, pg_get_functiondef(p.oid), obj_description(p.oid, 'pg_proc')
      )
    from functions p
    union all
    select format('trigger %I of %s', g.tgname, c.oid::regclass),
      concat_ws(E'\\n', pg_get_triggerdef(g.oid), g.tgenabled, obj_description(g.oid, 'pg_trigger'))
    from pg_trigger g
    join relations c on c.oid = g.tgrelid
    where not g.tgisinternal
    union all
    select format('policy %I of %s', y.polname, c.oid::regclass), pg_get_expr(y.polqual, y.polrelid)
    from pg_policy y
    join relations c on c.oid = y.polrelid`;
  return new Map(rows.map(({ name, definition }) => [name, definition]));
}

/** Where two databases differ, one sentence each, in order; empty where they do not. */
export function compareCatalogues(
  { migrations, schemas }: { readonly migrations: Catalogue; readonly schemas: Catalogue },
): string[] {
  const names = [...new Set([...migrations.keys(), ...schemas.keys()])].sort();
  return names.flatMap((name) => {
    const [migrated, declared] = [migrations.get(name), schemas.get(name)];
    if (migrated === declared) return [];
    if (migrated === undefined) {
      return [`${name}: in supabase/schemas, not made by the migrations.`];
    }
    if (declared === undefined) {
      return [`${name}: made by the migrations, not in supabase/schemas.`];
    }
    return [
      `${name}: the migrations make\n${indent(migrated)}\n  supabase/schemas says\n${
        indent(declared)
      }`,
    ];
  });
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, "    ");
}
