/** Damaged packets of a peer with the right key: AEAD does not reject these. */
import assert from "node:assert/strict";
import { Storm } from "./storm.ts";

const SEED = Number(Deno.env.get("SEED") ?? 1);
/** For more packets, set `FUZZ_PACKETS=5000000`. */
const PACKETS = Number(Deno.env.get("FUZZ_PACKETS") ?? 30_000);

for (const isFiltered of [true, false]) {
  Deno.test(`${PACKETS} damaged packets ${isFiltered ? "through the filter" : "into the stack"}, seed ${SEED} → no trap, memory stays, and connections work afterwards`, async () => {
    const result = await Storm.run({ seed: SEED, packets: PACKETS, isFiltered });
    const { damaged, passed, finished, failures, memory: [before, after] } = result;
    assert.deepEqual(failures, []);
    assert.ok(damaged >= PACKETS);
    // The filter lets enough damaged packets through to test the stack, and drops the others.
    if (isFiltered) assert.ok(passed > damaged / 10 && passed < damaged * 0.9, String(passed));
    else assert.equal(passed, damaged);
    assert.ok(finished > 10, String(finished));
    assert.ok(
      after <= before * 1.5 + 2 ** 20,
      `${before} bytes after the first half, ${after} at the end`,
    );
  });
}
