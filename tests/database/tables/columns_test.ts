import assert from "node:assert/strict";
import { withStackDatabase } from "../connection.ts";
import { canContainName, type Column, readCatalog } from "./catalog.ts";
import { entryOf, fileOf, TABLES } from "./tables.ts";

Deno.test("every table has an entry, and every entry is about a table", async () => {
  const { columns } = await withStackDatabase(readCatalog);
  const tables = new Set(columns.map(({ table }) => table));
  for (const table of tables) entryOf(table);
  assert.deepEqual(Object.keys(TABLES).filter((table) => !tables.has(table)), []);
});

Deno.test("every column that can contain an agent's name → its table's entry says how it gets there, or why it cannot", async () => {
  await withStackDatabase(async (sql) => {
    const catalog = await readCatalog(sql);
    const complaints: string[] = [];
    for (const column of catalog.columns) {
      const isOpen = await canContainName(sql, column, catalog);
      complaints.push(...complaintsAbout(column, isOpen));
    }
    for (const [table, { names = {}, nameless = {} }] of Object.entries(TABLES)) {
      for (const name of [...Object.keys(names), ...Object.keys(nameless)]) {
        const exists = catalog.columns.some(({ table: other, column }) =>
          other === table && column === name
        );
        if (!exists) complaints.push(`${table} has no column ${name} (${fileOf(table)})`);
      }
    }
    assert.deepEqual(complaints, []);
  });
});

function complaintsAbout({ table, column }: Column, isOpen: boolean): string[] {
  const { names = {}, nameless = {} } = entryOf(table);
  const entries = Number(column in names) + Number(column in nameless);
  if (isOpen && entries === 0) {
    return [
      `${table}.${column} can contain an agent's name. Say in ${fileOf(table)} how a name gets ` +
      "there (names), or why none can (nameless)",
    ];
  }
  if (!isOpen && entries > 0) {
    return [`${table}.${column} needs no entry: the database refuses a name (${fileOf(table)})`];
  }
  return entries > 1 ? [`${table}.${column} has two entries in ${fileOf(table)}`] : [];
}
