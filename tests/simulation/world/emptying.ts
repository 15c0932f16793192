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
  const rows = tables.map(({ name }) =>
    database.query(`select coalesce(json_agg(t), '[]') as rows from ${name} t`)[0]!["rows"]!
  );
  return () => {
    // Rows are changed as they are, without triggers and foreign keys.
    database.run("set session_replication_role = replica");
    tables.forEach((table, index) => bringBack(database, table, rows[index]!));
    database.run("reset session_replication_role");
  };
}

function bringBack(database: SimulatedDatabase, { name, columns }: Row, rows: string): void {
  // Not `truncate`, after which every plan would have to be made again.
  database.run(`delete from ${name}`);
  if (rows === "[]") return;
  database.run(
    `insert into ${name} (${columns}) overriding system value
    select ${columns} from json_populate_recordset(null::${name}, $rows$${rows}$rows$)`,
  );
}
