import assert from "node:assert/strict";
import type postgres from "postgres";
import { callAsService, withProjectDatabase, withStackDatabase } from "../connection.ts";
import { letDaysPassIn, timeColumns } from "../enrolment/later_times.ts";
import { type Catalog, readCatalog } from "./catalog.ts";
import { insertRow, type Marks, newMarks } from "./rows.ts";
import { sweepOnce } from "./sweeping.ts";
import { fileOf, TABLES } from "./tables.ts";

/** Longer than anything is kept. */
const DAYS = 500;

Deno.test("a table whose rows the sweep deletes → an old row is gone after a few sweeps", async () => {
  await withRows(async ({ sql, catalog, complaints }) => {
    const made: (readonly [table: string, marks: Marks])[] = [];
    for (const table of tablesThatEndBy("sweep")) {
      const marks = newMarks();
      await insertRow(sql, { table, marks, catalog });
      assert.ok(await countWith(sql, table, marks) > 0, `${table}: ${fileOf(table)}`);
      made.push([table, marks]);
    }
    // A step may only mark what a later sweep deletes.
    for (let round = 0; round < 3; round++) {
      await letDaysPassIn(sql, DAYS, made.flatMap(([, marks]) => Object.values(marks)));
      await sweepOnce(sql);
    }
    for (const [table, marks] of made) {
      const left = await countWith(sql, table, marks);
      if (left > 0) complaints.push(`no sweep deletes old rows of ${table} (${fileOf(table)})`);
    }
  });
});

Deno.test("a table whose rows end with their agent → remove_agent deletes them, and before that, holds_something and next_name find the agent", async () => {
  await withRows(async ({ sql, catalog, complaints }) => {
    for (const table of tablesThatEndBy("removal")) {
      const { ends, names = {} } = TABLES[table]!;
      if (ends.by !== "removal") continue;
      for (const column of ends.of ?? Object.keys(names)) {
        const { value = "{name}", with: others } = names[column]!;
        if (value !== "{name}") continue;
        const marks = newMarks();
        await insertRow(sql, { table, values: { ...others, [column]: value }, marks, catalog });
        const place = `${table}.${column} (${fileOf(table)})`;
        const [found] = await sql<{ holds: boolean; next: string | null }[]>`
          select agents.holds_something(${marks.name}) as holds,
            agents.next_name(${marks.name.slice(0, -1)}) as next`;
        if (ends.isNothing === undefined) {
          if (!found!.holds) complaints.push(`${place}: holds_something does not read it`);
          if (found!.next !== marks.name) complaints.push(`${place}: next_name does not find it`);
        }
        await callAsService(sql, "remove_agent", { agent_id: marks.name });
        const [left] = await sql.unsafe(
          `select count(*)::integer as count from ${table} where ${column} = $1`,
          [marks.name],
        );
        if (left!["count"] > 0) complaints.push(`${place}: remove_agent leaves the row`);
      }
    }
  });
});

Deno.test("a table whose rows end with another row or with a change → the foreign key, or the function, deletes them", async () => {
  await withStackDatabase(async (sql) => {
    const { references } = await readCatalog(sql);
    for (const [table, { ends }] of Object.entries(TABLES)) {
      if (ends.by === "parent") {
        const cascades = references.some((reference) =>
          reference.table === table && reference.parent === ends.table && reference.cascades
        );
        assert.ok(cascades, `${table} does not go with ${ends.table} (${fileOf(table)})`);
      }
      if (ends.by === "change") {
        const [row] = await sql<{ source: string }[]>`
          select p.prosrc as source from pg_proc p where p.oid = to_regproc(${ends.function})`;
        const deletes = new RegExp(`(?:delete from|update|insert into) ${table}\\b`);
        assert.match(row?.source ?? "", deletes, `${ends.function} of ${table} (${fileOf(table)})`);
      }
    }
  });
});

Deno.test("a table with a time → its entry says which situation of later_cuts_test.ts shows that its rows live long enough, or why nothing later reads them", async () => {
  const timed = new Set((await withStackDatabase(timeColumns)).map(({ table }) => table));
  for (const table of timed) {
    assert.ok(TABLES[table]?.lives, `${table} has a time: add \`lives\` in ${fileOf(table)}`);
  }
  const others = Object.keys(TABLES).filter((table) => TABLES[table]!.lives && !timed.has(table));
  assert.deepEqual(others, []);
});

interface Filling {
  readonly sql: postgres.Sql;
  readonly catalog: Catalog;
  readonly complaints: string[];
}

/** Runs `run` on a database of its own, and fails if it complains. */
async function withRows(run: (filling: Filling) => Promise<void>): Promise<void> {
  await withProjectDatabase({}, async (sql) => {
    const complaints: string[] = [];
    await run({ sql, catalog: await readCatalog(sql), complaints });
    assert.deepEqual(complaints, []);
  });
}

function tablesThatEndBy(end: string): string[] {
  return Object.keys(TABLES).filter((table) => TABLES[table]!.ends.by === end);
}

async function countWith(sql: postgres.Sql, table: string, marks: Marks): Promise<number> {
  const [row] = await sql.unsafe(
    `select count(*)::integer as count from ${table} t where t::text ~ $1`,
    [Object.values(marks).join("|")],
  );
  return row!["count"];
}
