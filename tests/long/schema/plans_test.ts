import assert from "node:assert/strict";
import { fill } from "../../bench/fill/fill.ts";
import { removeVersionColumns } from "../../database/bucket/versions.ts";
import { withProjectDatabase } from "../../database/connection.ts";
import { HUB } from "../../database/plans/planned_call.ts";
import { complaintsIn } from "../../database/plans/complaints.ts";
import { fillLog } from "../../database/plans/log_rows.ts";
import { fillOrphans } from "../../database/plans/orphan_rows.ts";
import { functionsPlannedByCalls } from "../../database/plans/planned_functions.ts";

// At this size the planner is most likely to choose wrongly: reading a whole table seems to cost as
// much as a thousand index lookups.
Deno.test("each SQL function, in tables of 20,000 rows, with and without Storage's columns for versions → reads ranges of indexes, a bounded number of rows and pages, and keeps its plans", async () => {
  await withProjectDatabase({}, async (sql) => {
    await fill(sql, { artifacts: 20_000, peers: 10_000, hubs: [HUB] });
    await fillLog(sql, { artifacts: 20_000 });
    await fillOrphans(sql, { artifacts: 20_000 });
    assert.deepEqual(await complaintsIn(sql), []);
    assert.deepEqual(await functionsPlannedByCalls(sql), []);
    await removeVersionColumns(sql);
    await sql`vacuum analyze storage.objects`;
    assert.deepEqual(await complaintsIn(sql), []);
    assert.deepEqual(await functionsPlannedByCalls(sql), []);
  });
});

Deno.test("each SQL function, in tables of 100,000 rows, with and without Storage's columns for versions → reads ranges of indexes, and a bounded number of rows and pages", async () => {
  await withProjectDatabase({}, async (sql) => {
    await fill(sql, { artifacts: 100_000, peers: 20_000, hubs: [HUB] });
    await fillLog(sql, { artifacts: 100_000 });
    await fillOrphans(sql, { artifacts: 100_000 });
    assert.deepEqual(await complaintsIn(sql, { size: 5 }), []);
    await removeVersionColumns(sql);
    await sql`vacuum analyze storage.objects`;
    assert.deepEqual(await complaintsIn(sql, { size: 5 }), []);
  });
});
