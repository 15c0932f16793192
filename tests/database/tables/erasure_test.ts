import assert from "node:assert/strict";
import postgres from "postgres";
import { eraseAgent, type Receipt, sumOf } from "../../../packages/operator/endings/erasing.ts";
import { callAsService, withProjectDatabase } from "../connection.ts";
import { type Catalog, readCatalog } from "./catalog.ts";
import { insertRow, type Marks, newMarks } from "./rows.ts";
import type { Naming } from "./table.ts";
import { fileOf, TABLES } from "./tables.ts";

interface Case {
  readonly table: string;
  readonly column: string;
  readonly naming: Naming;
  readonly marks: Marks;
}

const CASES: readonly Case[] = Object.entries(TABLES).flatMap(([table, { names = {} }]) =>
  Object.entries(names).map(([column, naming]) => ({ table, column, naming, marks: newMarks() }))
);

Deno.test("an agent that only one column names, for each column → counted before its erasure, which says it is complete only if no column of any table has the name", async () => {
  await withProjectDatabase({}, async (sql) => {
    const catalog = await readCatalog(sql);
    const complaints: string[] = [];
    for (const { table, column, naming, marks } of CASES) {
      const values = { ...naming.with, [column]: naming.value ?? "{name}" };
      await insertRow(sql, { table, values, marks, catalog });
      const places = await placesOf(sql, catalog, marks.name);
      const place = `${table}.${column}`;
      assert.ok(places.includes(place), `${place}: the row of ${fileOf(table)} has no name there`);

      const receipt = await erase(sql, marks.name);
      const left = await placesOf(sql, catalog, marks.name);
      if (naming.stays !== undefined) {
        if (receipt?.complete) complaints.push(`${place}: complete, although the name stays`);
        continue;
      }
      if (receipt === null) {
        complaints.push(`${place}: the erasure was refused`);
        continue;
      }
      if (sumOf(receipt.erased) === 0) {
        complaints.push(`${place}: count_mentions does not count it`);
      }
      if (!receipt.complete) complaints.push(`${place}: not complete: ${JSON.stringify(receipt)}`);
      if (left.length > 0) complaints.push(`${place}: the name is left in ${left.join(", ")}`);
    }
    assert.deepEqual(complaints, []);
  });
});

/** Null if the database refuses. */
async function erase(sql: postgres.Sql, name: string): Promise<Receipt | null> {
  try {
    return await eraseAgent(name, (called, parameters) => callAsService(sql, called, parameters));
  } catch (error) {
    if (error instanceof postgres.PostgresError && error.code.startsWith("PT")) return null;
    throw error;
  }
}

/** Every column with this text, or with its hexadecimal or base64 form. */
async function placesOf(sql: postgres.Sql, catalog: Catalog, text: string): Promise<string[]> {
  const bytes = new TextEncoder().encode(text);
  const forms = [text, bytes.toHex(), bytes.toBase64().replaceAll(/[+/=]/g, "\\$&")].join("|");
  const find = async (queries: readonly string[]) =>
    (await sql.unsafe<{ place: string }[]>(queries.join(" union all "), [forms]))
      .map(({ place }) => place);
  const tables = new Set(catalog.columns.map(({ table }) => table));
  // Whole rows first, because that many queries on columns take longer to plan than to run.
  const named = await find(
    Array.from(
      tables,
      (table) =>
        `select '${table}' as place where exists (select from ${table} t where t::text ~ $1)`,
    ),
  );
  const columns = catalog.columns.filter(({ table }) => named.includes(table));
  if (columns.length === 0) return [];
  return await find(
    columns.map(({ table, column }) =>
      `select '${table}.${column}' as place where exists (
      select from ${table} where ${column}::text ~ $1)`
    ),
  );
}
