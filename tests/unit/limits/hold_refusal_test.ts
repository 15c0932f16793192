import assert from "node:assert/strict";
import { holdRefusal } from "../../../supabase/functions/_shared/request/limits/hold_refusal.ts";

/** While `run` runs, timers are held until it fires them. */
async function withHeldTimers(run: (timers: (() => void)[]) => Promise<void>): Promise<void> {
  const { setTimeout } = globalThis;
  const timers: (() => void)[] = [];
  Object.assign(globalThis, { setTimeout: (fire: () => void) => timers.push(fire) });
  try {
    await run(timers);
  } finally {
    globalThis.setTimeout = setTimeout;
  }
}

Deno.test("holdRefusal() of 300 at once → 256 are held until their time is over, the others leave", async () => {
  await withHeldTimers(async (timers) => {
    let left = 0;
    const refusals = Array.from({ length: 300 }, () => holdRefusal().then(() => left++));
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    assert.equal(timers.length, 256);
    assert.equal(left, 44);

    timers[0]!();
    await refusals[0];
    assert.equal(left, 45);
    refusals.push(holdRefusal().then(() => left++));
    assert.equal(timers.length, 257, "there is room again for one");

    for (const fire of timers.slice(1)) fire();
    await Promise.all(refusals);
    assert.equal(left, 301);
  });
});
