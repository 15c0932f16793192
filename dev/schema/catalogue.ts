import type postgres from "postgres";

/**
 * The project's part of a database. Maps each object, such as `column mesh.peers.pubkey`, to
 * everything that defines it, one property per line.
 */
export type Catalogue = ReadonlyMap<string, string>;

/**
 * The schemas of the platform and of the Supabase CLI. Every other schema is the project's. In
 * `public`, only the functions are the project's.
 */
const OTHER_SCHEMAS = [
  "extensions",
  "information_schema",
  "public",
  "storage",
  "supabase_migrations",
];

/**
 * Reads everything that the project defines: schemas, tables, composite types, columns, domains,
 * constraints, indexes, sequences, functions and triggers, each with its owner, privileges and
 * comment. The result does not depend on the order in which things were made: neither on the
 * position of a column in its table nor on the order of grants. Only in a composite type do
 * positions count, because its rows are built by position.
 */
export async function readCatalogue(
  sql: postgres.Sql | postgres.TransactionSql,
): Promise<Catalogue> {
  /** The privileges that were granted, or the defaults if none were. */
  const privileges = (acl: string, kind: string, owner: string) =>
    sql.unsafe(`(
      select 'privileges: ' || string_agg(item::text, ', ' order by item::text)
      from unnest(coalesce(${acl}, acldefault(${kind}, ${owner}))) item
    )`);
  const property = (name: string, value: string) =>
    sql.unsafe(`'${name}: ' || nullif((${value})::text, '')`);
  const rows = await sql<{ name: string; definition: string }[]>`
    with own_schemas as (
      select n.* from pg_namespace n
      where n.nspname not in ${sql(OTHER_SCHEMAS)} and n.nspname !~ '^pg_'
    ), relations as (
      select c.* from pg_class c join own_schemas n on n.oid = c.relnamespace
    ), functions as (
      select p.* from pg_proc p
      join pg_namespace n on n.oid = p.pronamespace
      where (n.nspname = 'public' or n.oid in (select o.oid from own_schemas o))
        and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
    )
    select format('schema %I', n.nspname) as name,
      concat_ws(
        E'\\n',
        ${property("owner", "n.nspowner::regrole")},
        ${privileges("n.nspacl", "'n'", "n.nspowner")},
        ${property("comment", "obj_description(n.oid, 'pg_namespace')")}
      ) as definition
    from own_schemas n
    union all
    select format('%s %s', case c.relkind when 'S' then 'sequence' when 'i' then 'index' when 'c' then 'type' else 'table' end, c.oid::regclass),
      concat_ws(
        E'\\n',
        pg_get_indexdef(i.indexrelid),
        case when c.relkind = 'v' then pg_get_viewdef(c.oid) end,
        ${property("kind", "c.relkind")},
        ${property("owner", "c.relowner::regrole")},
        case when c.relkind <> 'i' then ${
    privileges("c.relacl", `case c.relkind when 'S' then 's' else 'r' end::"char"`, "c.relowner")
  } end,
        ${property("options", "c.reloptions")},
        ${property("row level security", "c.relrowsecurity")},
        ${property("row level security, forced", "c.relforcerowsecurity")},
        ${property("persistence", "c.relpersistence")},
        ${property("comment", "obj_description(c.oid, 'pg_class')")},
        ${property("comment", "obj_description(c.reltype, 'pg_type')")}
      )
    from relations c
    left join pg_index i on i.indexrelid = c.oid
    union all
    select format('column %s.%I', c.oid::regclass, a.attname),
      concat_ws(
        E'\\n',
        ${property("type", "format_type(a.atttypid, a.atttypmod)")},
        ${property("collation", "a.attcollation::regcollation")},
        ${property("not null", "a.attnotnull")},
        ${property("identity", "a.attidentity")},
        ${property("generated", "a.attgenerated")},
        ${property("default", "pg_get_expr(d.adbin, d.adrelid)")},
        ${privileges("a.attacl", "'c'", "c.relowner")},
        ${property("options", "a.attoptions")},
        ${property("comment", "col_description(c.oid, a.attnum)")},
        ${property("place in the type", "case when c.relkind = 'c' then a.attnum end")}
      )
    from relations c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relkind in ('r', 'c')
    union all
    select format('domain %s', t.oid::regtype),
      concat_ws(
        E'\\n',
        ${property("owner", "t.typowner::regrole")},
        ${privileges("t.typacl", "'T'", "t.typowner")},
        ${property("type", "format_type(t.typbasetype, t.typtypmod)")},
        ${property("collation", "t.typcollation::regcollation")},
        ${property("not null", "t.typnotnull")},
        ${property("default", "t.typdefault")},
        ${property("comment", "obj_description(t.oid, 'pg_type')")}
      )
    from pg_type t
    join own_schemas n on n.oid = t.typnamespace
    where t.typtype = 'd'
    union all
    select format('constraint %I of %s', k.conname, coalesce(nullif(k.conrelid, 0)::regclass::text, k.contypid::regtype::text)),
      concat_ws(
        E'\\n',
        pg_get_constraintdef(k.oid),
        ${property("validated", "k.convalidated")},
        ${property("comment", "obj_description(k.oid, 'pg_constraint')")}
      )
    from pg_constraint k
    join own_schemas n on n.oid = k.connamespace
    -- Columns and domains say whether they are not null. PostgreSQL 18 has constraints for that,
    -- which keep a column's former name.
    where k.contype <> 'n'
    union all
    select format('function %I.%I(%s)', p.pronamespace::regnamespace, p.proname, pg_get_function_identity_arguments(p.oid)),
      concat_ws(
        E'\\n',
        pg_get_functiondef(p.oid),
        ${property("owner", "p.proowner::regrole")},
        (
          select 'executable for: '
            || string_agg(coalesce(r.rolname, 'public'), ', ' order by coalesce(r.rolname, 'public') collate "C")
          from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x
          left join pg_roles r on r.oid = x.grantee
        ),
        ${property("comment", "obj_description(p.oid, 'pg_proc')")}
      )
    from functions p
    union all
    select format('trigger %I of %s', g.tgname, c.oid::regclass),
      concat_ws(
        E'\\n',
        pg_get_triggerdef(g.oid),
        ${property("enabled", "g.tgenabled")},
        ${property("comment", "obj_description(g.oid, 'pg_trigger')")}
      )
    from pg_trigger g
    join relations c on c.oid = g.tgrelid
    where not g.tgisinternal
    union all
    select format('policy %I of %s', y.polname, c.oid::regclass), pg_get_expr(y.polqual, y.polrelid)
    from pg_policy y
    join relations c on c.oid = y.polrelid`;
  return new Map(rows.map(({ name, definition }) => [name, definition ?? ""]));
}
