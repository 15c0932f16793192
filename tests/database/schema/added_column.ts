import type postgres from "postgres";

/** The project's tables, as `schema.table`. */
export async function tablesOf(sql: postgres.Sql): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select c.oid::regclass::text as name
    from pg_class c
    where c.relkind = 'r' and c.relnamespace::regnamespace::text = any (agents.own_schemas())
    order by 1`;
  return rows.map(({ name }) => name);
}

/** Adds a nullable column, as a migration of the next release may while the service runs. */
export async function addColumnToEveryTable(sql: postgres.Sql): Promise<void> {
  for (const table of await tablesOf(sql)) {
    await sql.unsafe(`alter table ${table} add column added text`);
  }
}
