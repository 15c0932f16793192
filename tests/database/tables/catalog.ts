/** What the database itself says about the columns of our tables. */
import type postgres from "postgres";

export interface Column {
  readonly table: string;
  readonly column: string;
  readonly type: string;
  /** PostgreSQL's category of the type, such as `N` for numbers. */
  readonly category: string;
  readonly isGenerated: boolean;
  readonly hasComment: boolean;
  /** The check constraints that read this column and no other, as expressions. */
  readonly checks: readonly string[];
}

/** A foreign key: the columns of `table`, and those of `parent` that they name. */
export interface Reference {
  readonly table: string;
  readonly columns: readonly string[];
  readonly parent: string;
  readonly parentColumns: readonly string[];
  readonly cascades: boolean;
}

export interface Catalog {
  readonly columns: readonly Column[];
  readonly references: readonly Reference[];
}

export async function readCatalog(sql: postgres.Sql): Promise<Catalog> {
  const columns = await sql<Column[]>`
    select a.attrelid::regclass::text as table, a.attname::text as column,
      format_type(a.atttypid, a.atttypmod) as type, t.typcategory as category,
      a.attgenerated <> '' as "isGenerated",
      col_description(a.attrelid, a.attnum) is not null as "hasComment",
      array(
        select pg_get_expr(k.conbin, k.conrelid)
        from pg_constraint k
        where k.conrelid = a.attrelid and k.contype = 'c' and k.conkey = array[a.attnum]
      ) as checks
    from pg_attribute a
    join pg_type t on t.oid = a.atttypid
    join pg_class c on c.oid = a.attrelid
    where c.relnamespace::regnamespace::text = any (agents.own_schemas())
      and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped
    order by 1, a.attnum`;
  const references = await sql<Reference[]>`
    select k.conrelid::regclass::text as table, k.confrelid::regclass::text as parent,
      k.confdeltype = 'c' as cascades,
      array(
        select a.attname::text
        from unnest(k.conkey) with ordinality as n (number, position)
        join pg_attribute a on a.attrelid = k.conrelid and a.attnum = n.number
        order by n.position
      ) as columns,
      array(
        select a.attname::text
        from unnest(k.confkey) with ordinality as n (number, position)
        join pg_attribute a on a.attrelid = k.confrelid and a.attnum = n.number
        order by n.position
      ) as "parentColumns"
    from pg_constraint k
    where k.contype = 'f' and k.conrelid::regclass::text ~ '\\.'`;
  return { columns: Array.from(columns), references: Array.from(references) };
}

/** Numbers, booleans, times, intervals, addresses, and other types without words. */
const WORDLESS_CATEGORIES = "NBDTI";
const WORDLESS_TYPES = ["uuid", "xid8"];

/** The forms in which a column may contain the name of an agent. */
const FORMS = [
  "one-of-5",
  "tag:one-of-5",
  "text/one-of-5",
  "one-of-5.example.com:51820",
  '{"of": "one-of-5"}',
  '["one-of-5"]',
  "{one-of-5}",
  "{one-of-5.example.com:51820}",
  "\\x6f6e652d6f662d35",
];

/**
 * Whether a column can contain an agent's name, according to its type and its constraints. A
 * generated column contains what its sources contain, and a foreign key what it refers to.
 */
export async function canContainName(
  sql: postgres.Sql,
  column: Column,
  catalog: Catalog,
): Promise<boolean> {
  if (column.isGenerated) return false;
  if (WORDLESS_CATEGORIES.includes(column.category) || WORDLESS_TYPES.includes(column.type)) {
    return false;
  }
  const referred = referredColumn(column, catalog);
  if (referred !== undefined && !await canContainName(sql, referred, catalog)) return false;
  for (const form of FORMS) {
    if (await accepts(sql, column, form)) return true;
  }
  return false;
}

function referredColumn({ table, column }: Column, catalog: Catalog): Column | undefined {
  for (const { columns, parent, parentColumns } of ofTable(table, catalog)) {
    const name = parentColumns[columns.indexOf(column)];
    if (name === undefined) continue;
    return catalog.columns.find((one) => one.table === parent && one.column === name);
  }
  return undefined;
}

export function ofTable(table: string, { references }: Catalog): readonly Reference[] {
  return references.filter((reference) => reference.table === table);
}

async function accepts(
  sql: postgres.Sql,
  { column, type, checks }: Column,
  form: string,
): Promise<boolean> {
  const conditions = checks.map((check) => `(${check}) is not false`);
  try {
    const [row] = await sql.unsafe(
      `select ${["true", ...conditions].join(" and ")} as accepted
      from (select $1::text::${type} as ${column}) t`,
      [form],
    );
    return row!["accepted"];
  } catch {
    return false;
  }
}
