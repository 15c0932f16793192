import assert from "node:assert/strict";
import { ByteQueue } from "../../ip/byte_queue.ts";

/** Pseudo-random numbers below a bound. */
function numbers(): (bound: number) => number {
  let state = 1;
  return (bound) => (state = (state * 48_271) % 2_147_483_647) % bound;
}

Deno.test("chunks of all sizes, taken in pieces of all sizes → the same bytes; what was taken stays as it was", () => {
  const below = numbers();
  const queue = new ByteQueue();
  const [pushed, taken]: [number[], Uint8Array[]] = [[], []];
  for (let step = 0; step < 3000; step++) {
    const bytes = new Uint8Array(1 + below(below(8) === 0 ? 3000 : 40)).map(() => below(256));
    pushed.push(...bytes);
    queue.push(bytes);
    if (below(3) === 0) taken.push(queue.take(1 + below(200)));
  }
  while (queue.length > 0) taken.push(queue.take(65_536));
  assert.deepEqual(taken.flatMap((bytes) => [...bytes]), pushed);
});

Deno.test("a million single bytes → whole pieces of 4,096", () => {
  const queue = new ByteQueue();
  for (let count = 0; count < 1_000_000; count++) queue.push(Uint8Array.of(7));
  // `take` of one byte more than a piece returns whole chunks only.
  assert.equal(queue.take(4097).length, 4096);
});
