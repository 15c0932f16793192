import { withProjectDatabase } from "../database/connection.ts";
import {
  assertHeld,
  fillBucket,
  idle,
  keysOf,
  loseRows,
} from "../database/sweep/restored_bucket.ts";

Deno.test("a round and a half of idle sweeps, then a restore that loses the rows of 6,000 of 100,000 objects → none is removed, and all are counted, once", async () => {
  await withProjectDatabase({}, async (sql) => {
    await fillBucket(sql, { sealed: 100_000 });
    await idle(sql, 750);
    const { paths } = await loseRows(sql, keysOf("sealed", 6_000));
    await assertHeld(sql, paths);
  });
});

Deno.test("60 idle sweeps, then a restore that loses the rows of 300 of 5,000 objects → none is removed, and all are counted, once", async () => {
  await withProjectDatabase({}, async (sql) => {
    await fillBucket(sql, { sealed: 5000 });
    await idle(sql, 60);
    const { paths } = await loseRows(sql, keysOf("sealed", 300));
    await assertHeld(sql, paths);
  });
});
