import assert from "node:assert/strict";
import { playRange } from "./runs/many_seeds.ts";

/** Every history of these holds. `deno task simulate --seeds 1000000` plays more. */
const SEEDS = 1000;

Deno.test(`${SEEDS} seeds in two processes → every invariant holds in each history`, async () => {
  const range = {
    seeds: [1, SEEDS] as const,
    steps: 40,
    processes: 2,
    breakName: null,
    acting: [],
  };
  const { seeds, seconds, failures } = await playRange(range);
  console.log(`${seeds} histories in ${seconds} s`);
  assert.deepEqual(failures, []);
  assert.equal(seeds, SEEDS);
});

Deno.test("a range with a seed that breaks an invariant → stops there, and goes on after it", async () => {
  const range = {
    seeds: [1, 40] as const,
    steps: 40,
    processes: 1,
    breakName: "identities/revoked_key",
    acting: [],
  };
  const next = [1];
  const { seeds, failures } = await playRange(range, next);
  assert.equal(failures.length, 1);
  assert.equal(next[0], failures[0]!.seed + 1);
  assert.equal(seeds, failures[0]!.seed);
});
