import assert from "node:assert/strict";
import { withStackDatabase } from "../connection.ts";

/**
 * All rows of all tables of the stack's database, those of the platform too: a text for each table.
 * bytea is in hex.
 */
export function readEveryTable(): Promise<Map<string, string>> {
  return withStackDatabase(async (sql) => {
    const tables = await sql`
      select format('%I.%I', n.nspname, c.relname) as name
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'p', 'm')
        and n.nspname <> 'information_schema' and n.nspname !~ '^pg_'`;
    const names = tables.map((table) => String(table["name"]));
    for (const expected of ["mesh.pairs", "mesh.peers", "agents.events", "storage.objects"]) {
      assert.ok(names.includes(expected), expected);
    }
    const texts = new Map<string, string>();
    for (const name of names) {
      const rows = await sql.unsafe(`select t::text as text from ${name} t`);
      texts.set(name, rows.map((row) => String(row["text"])).join("\n"));
    }
    return texts;
  });
}
