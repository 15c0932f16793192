import type { Row, SimulatedDatabase } from "./database.ts";

/**
 * Remembers the rows of all tables, and returns a function that brings them back. What the session
 * has compiled and planned meanwhile stays, which is the use of it: the first calls of a session
 * take several times as long as later ones.
 */
export function rememberRows(database: SimulatedDatabase): () => void {
  const tables = database.query(
    `select c.oid::regclass::text as name,
      (
        select string_agg(quote_ident(a.attname), ', ' order by a.attnum) from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
      ) as columns
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind = 'r'
      and n.nspname not in ('pg_catalog', 'information_schema', 'extensions', 'pg_toast')
    order by 1`,
  );
  const rows = tables.map(({ name }) => rowsOf(database, name!));
  database.run("create extension pg_surgery with schema extensions");
  return () => {
    tables.forEach((table, index) => bringBack(database, table, rows[index]!));
  };
}

function rowsOf(database: SimulatedDatabase, name: string): string {
  return database.query(`select coalesce(json_agg(t), '[]') as rows from ${name} t`)[0]!["rows"]!;
}

function bringBack(database: SimulatedDatabase, { name, columns }: Row, rows: string): void {
  if (rowsOf(database, name!) === rows) return;
  // Neither `delete`, which triggers refuse, nor `truncate` or another `session_replication_role`,
  // after which every plan would have to be made again.
  database.run(
    `select extensions.heap_force_kill('${name}', array(select ctid from ${name}))`,
  );
  if (rows === "[]") return;
  database.run(
    `insert into ${name} (${columns}) overriding system value
    select ${columns} from json_populate_recordset(null::${name}, $rows$${rows}$rows$)`,
  );
}
