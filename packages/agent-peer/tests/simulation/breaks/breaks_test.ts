import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { testNames } from "../../../../../tests/promises/reading.ts";
import { OTHERS, SIMULATED } from "./breaks.ts";
import { BrokenSources } from "./broken_sources.ts";

for (const { what, patches, seeds, complaint } of SIMULATED) {
  Deno.test(`${what} → found within ${seeds} seeds, and one that decides much is made smaller by half`, async () => {
    await using sources = await BrokenSources.create(patches);
    const failure = await sources.firstFailure(seeds);
    assert.ok(failure !== null, `Not found in ${seeds} seeds.`);
    const { seed, findings, kept, decisions } = failure;
    console.log(`seed ${seed}, ${kept.length} of ${decisions} decisions: ${findings[0]}`);
    assert.ok(findings.some((finding) => complaint.test(finding)), findings.join("\n"));
    const isSmall = decisions < 4 || 2 * kept.length <= decisions;
    assert.ok(isSmall, `${kept} of ${decisions} decisions are needed.`);
  });
}

Deno.test("every other fault → the tests that find it exist", async () => {
  for (const { what, tests } of OTHERS) {
    assert.ok(tests.length > 0, what);
    for (const { file, name } of tests) {
      const source = await readFile(new URL(`../../../../../${file}`, import.meta.url), "utf8");
      const isThere = testNames(source).some((one) => one.startsWith(name));
      assert.ok(isThere, `${file}: ${name}`);
    }
  }
});
