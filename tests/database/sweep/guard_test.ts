import assert from "node:assert/strict";
import { pathsInBucket } from "./seeded_bucket.ts";
import { withProjectDatabase } from "../connection.ts";
import {
  assertHeld,
  fillBucket,
  idle,
  keysOf,
  loseRows,
  ROUNDS_UNTIL_REMOVED,
  sweepOnce,
  sweepRounds,
} from "./restored_bucket.ts";

for (
  const { objects, lost, uploads = 0 } of [
    { objects: 10, lost: 2 },
    { objects: 40, lost: 40 },
    { objects: 300, lost: 20 },
    { objects: 300, lost: 20, uploads: 30 },
  ]
) {
  Deno.test(
    `60 idle sweeps, then a restore that loses the rows of ${lost} of ${objects} objects${
      uploads > 0 ? ` beside ${uploads} uploads` : ""
    } → none is removed, and all are counted, once`,
    async () => {
      await withProjectDatabase({}, async (sql) => {
        await fillBucket(sql, { sealed: objects, uploaded: uploads });
        await idle(sql, 60);
        const { paths } = await loseRows(sql, keysOf("sealed", lost));
        await assertHeld(sql, paths);
      });
    },
  );
}

Deno.test("a restore in the middle of a round, at each of its calls → none is removed; the rows come back → none is held any more", async () => {
  await withProjectDatabase({}, async (sql) => {
    await fillBucket(sql, { sealed: 1000, uploaded: 300 });
    for (let call = 0; call < 7; call++) {
      await sweepRounds(sql, 1);
      await idle(sql, call);
      // 80 of 1,300 objects: less than 5% in half a round, more than 5% in a whole one.
      const keys = [...keysOf("sealed", 60), ...keysOf("uploaded", 20)];
      const { paths, putBack } = await loseRows(sql, keys);
      await assertHeld(sql, paths);
      await putBack();
      await sweepRounds(sql, 2);
      assert.deepEqual(await sweepRounds(sql, ROUNDS_UNTIL_REMOVED), { removed: [], held: 0 });
    }
    assert.equal((await pathsInBucket(sql)).length, 1300);
  });
});

Deno.test("3% orphans, from any call of a round on → all of them go, in the third whole round at the latest, and nothing else", async () => {
  await withProjectDatabase({}, async (sql) => {
    await fillBucket(sql, { sealed: 1000, uploaded: 300 });
    for (let call = 0; call < 6; call++) {
      await sweepRounds(sql, 1);
      await idle(sql, call);
      const keys = [...keysOf("sealed", 30, 1 + 30 * call), ...keysOf("uploaded", 5, 1 + 5 * call)];
      const { paths } = await loseRows(sql, keys);
      // The first of these rounds completes the one in progress.
      const swept = await sweepRounds(sql, ROUNDS_UNTIL_REMOVED);
      assert.deepEqual(swept, { removed: paths, held: 0 });
    }
    assert.equal((await pathsInBucket(sql)).length, 1300 - 6 * 35);
  });
});

Deno.test("few orphans that a round has counted, then a restore that loses many more rows → none of those is removed", async () => {
  await withProjectDatabase({}, async (sql) => {
    await fillBucket(sql, { sealed: 2000 });
    const old = await loseRows(sql, keysOf("sealed", 40));
    await sweepRounds(sql, 1);
    const lost = await loseRows(sql, keysOf("sealed", 200, 1001));
    const { removed, held } = await sweepRounds(sql, ROUNDS_UNTIL_REMOVED);
    assert.deepEqual(removed.filter((path) => lost.paths.includes(path)), []);
    assert.deepEqual(removed.filter((path) => !old.paths.includes(path)), []);
    assert.ok(held >= 200, String(held));
  });
});

Deno.test("several sweeps at once after a restore → none is removed, however their calls meet", async () => {
  await withProjectDatabase({}, async (sql) => {
    await fillBucket(sql, { sealed: 700, uploaded: 100 });
    await idle(sql, 10);
    await loseRows(sql, keysOf("sealed", 60));
    await Promise.all(Array.from({ length: 3 }, async () => {
      for (let call = 0; call < 10; call++) {
        assert.deepEqual((await sweepOnce(sql)).removed, []);
      }
    }));
    assert.equal((await pathsInBucket(sql)).length, 800);
  });
});

Deno.test("3% orphans and a limit of 10 → all of them go, and none is held", async () => {
  await withProjectDatabase({}, async (sql) => {
    await fillBucket(sql, { sealed: 1000 });
    const { paths } = await loseRows(sql, keysOf("sealed", 30));
    const swept = await sweepRounds(sql, ROUNDS_UNTIL_REMOVED, { limit: 10 });
    assert.deepEqual(swept, { removed: paths, held: 0 });
  });
});

Deno.test("one orphan of ten objects → held, until remove_many_orphans or until there are twenty", async () => {
  await withProjectDatabase({}, async (sql) => {
    await fillBucket(sql, { sealed: 10 });
    const { paths } = await loseRows(sql, keysOf("sealed", 1));
    await assertHeld(sql, paths);
    assert.deepEqual(await sweepRounds(sql, 1, { force: true }), { removed: paths, held: 0 });
  });
  await withProjectDatabase({}, async (sql) => {
    await fillBucket(sql, { sealed: 20 });
    const { paths } = await loseRows(sql, keysOf("sealed", 1));
    assert.deepEqual(await sweepRounds(sql, 1), { removed: paths, held: 0 });
  });
});

Deno.test("remove_many_orphans for one round → what it removed is held against nothing afterwards", async () => {
  await withProjectDatabase({}, async (sql) => {
    await fillBucket(sql, { sealed: 1000 });
    const { paths } = await loseRows(sql, keysOf("sealed", 400));
    await assertHeld(sql, paths);
    assert.deepEqual(await sweepRounds(sql, 1, { force: true }), { removed: paths, held: 0 });
    const others = await loseRows(sql, keysOf("sealed", 10, 401));
    const swept = await sweepRounds(sql, ROUNDS_UNTIL_REMOVED);
    assert.deepEqual(swept, { removed: others.paths, held: 0 });
  });
});

Deno.test("a restore that sets the rounds back beside the orphans that later ones found → they go all the same", async () => {
  await withProjectDatabase({}, async (sql) => {
    await fillBucket(sql, { sealed: 1000 });
    const { paths } = await loseRows(sql, keysOf("sealed", 30));
    await idle(sql, 3);
    const [remembered] = await sql`
      update artifacts.orphans set deciding_round = deciding_round + 100 returning object_name`;
    assert.notEqual(remembered, undefined);
    const swept = await sweepRounds(sql, ROUNDS_UNTIL_REMOVED);
    assert.deepEqual(swept, { removed: paths, held: 0 });
  });
});
