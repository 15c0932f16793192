/** Makes one row of any table, as its entry says. */
import type postgres from "postgres";
import { type Catalog, ofTable } from "./catalog.ts";
import type { Value } from "./table.ts";
import { entryOf } from "./tables.ts";

/** What the placeholders in values stand for. */
export type Marks = Readonly<Record<"name" | "other" | "later" | "hex" | "hash", string>>;

/** New agents, whose names sort in the order other, name, later. */
export function newMarks(): Marks {
  const id = crypto.randomUUID().slice(0, 13);
  return {
    name: `named-${id}`,
    other: `a-other-${id}`,
    later: `z-later-${id}`,
    hex: randomHex(),
    hash: randomHex() + randomHex(),
  };
}

/** Inserts a row of `table` with these values, and first the rows that it needs. */
export async function insertRow(
  sql: postgres.Sql,
  { table, values = {}, marks, catalog }: {
    readonly table: string;
    readonly values?: Readonly<Record<string, Value>>;
    readonly marks: Readonly<Record<string, string>>;
    readonly catalog: Catalog;
  },
): Promise<void> {
  const { row = {}, needs = {} } = entryOf(table);
  const texts = Object.fromEntries(
    Object.entries({ ...row, ...values })
      .filter(([, value]) => value !== "")
      .map(([column, value]) => [column, filled(value, marks)]),
  );
  for (const [needed, needs_] of Object.entries(needs)) {
    await insertRow(sql, {
      table: needed,
      values: needs_,
      catalog,
      marks: { ...texts, ...marks },
    });
  }
  for (const { columns, parent, parentColumns } of ofTable(table, catalog)) {
    if (columns.some((column) => texts[column] === undefined)) continue;
    const pairs = columns.map((column, index) => [parentColumns[index]!, texts[column]!]);
    await insertRow(sql, { table: parent, values: Object.fromEntries(pairs), marks, catalog });
  }
  const columns = Object.keys(texts);
  const casts = columns.map((column, index) => {
    const { type } = catalog.columns.find((one) => one.table === table && one.column === column)!;
    return `$${index + 1}::text::${type}`;
  });
  await sql.unsafe(
    `insert into ${table} (${columns.join()}) values (${casts.join()}) on conflict do nothing`,
    Object.values(texts),
  );
}

function filled(value: Value, marks: Readonly<Record<string, string>>): string {
  return value
    .replaceAll("{random}", randomHex)
    .replaceAll("{octets}", () => crypto.getRandomValues(new Uint8Array(3)).join("."))
    .replaceAll(/\{(\w+)\}/g, (placeholder, mark) => marks[mark] ?? placeholder);
}

function randomHex(): string {
  return crypto.randomUUID().replaceAll("-", "");
}
