import assert from "node:assert/strict";
import { fill } from "../../bench/fill/fill.ts";
import { withProjectDatabase } from "../connection.ts";
import { fillLog } from "../plans/log_rows.ts";
import { fillOrphans } from "../plans/orphan_rows.ts";
import { fileOf, TABLES } from "./tables.ts";

/** Many artifacts, because a few agents own most of them. */
const SIZE = { artifacts: 10_000, peers: 500 };
/** Every plan passes on an empty table, and nearly all on one that fits into a page. */
const LEAST_ROWS = 100;

Deno.test("the database in which plans are looked at → has rows in every table that grows", async () => {
  await withProjectDatabase({}, async (sql) => {
    await fill(sql, SIZE);
    await fillLog(sql, SIZE);
    await fillOrphans(sql, SIZE);
    const complaints: string[] = [];
    for (const [table, { size }] of Object.entries(TABLES)) {
      if (size !== "grows") continue;
      const [row] = await sql.unsafe(`select count(*)::integer as count from ${table}`);
      if (row!["count"] < LEAST_ROWS) {
        complaints.push(
          `${table} has ${row!["count"]} rows: add some in tests/bench/fill/, or say in ` +
            `${fileOf(table)} why it stays small`,
        );
      }
    }
    assert.deepEqual(complaints, []);
  });
});
