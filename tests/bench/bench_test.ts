import assert from "node:assert/strict";
import { fill } from "./fill/fill.ts";
import { measureThroughput, OPERATIONS } from "./parts/throughput.ts";
import { startBenchStack } from "./stack/bench_stack.ts";

Deno.test("deno task bench, each operation a few times → every call is answered, and each bare one beside it", async () => {
  await using stack = await startBenchStack();
  const size = { artifacts: 1_000, peers: 100 };
  await fill(stack.sql, size);
  const effort = { turns: 1, callsOfOneClient: 2, callsOfSixteen: 16 };
  const measured = await measureThroughput({ stack, size }, effort, () => {});

  const named = new Set(measured.map(({ operation }) => operation));
  assert.ok(named.size > 15, `${named.size} operations`);
  const withFloor = OPERATIONS.filter(({ floor, name }) => floor !== null && named.has(name));
  assert.deepEqual(
    new Set(measured.filter(({ ofFloor }) => ofFloor !== null).map(({ operation }) => operation)),
    new Set(withFloor.map(({ name }) => name)),
  );
});
