import assert from "node:assert/strict";
import { runConformance } from "../../../dev/checks/conformance_run.ts";
import { addCounts, type TestCounts } from "../../../dev/checks/test_counts.ts";
import type { Stack } from "../../../local/stack/stack.ts";
import { withOwnStack } from "../../database/own_stack.ts";
import { addColumnToEveryTable } from "../../database/schema/added_column.ts";

Deno.test("a stack that has served every operation, after a column was added to every table while it runs → the whole conformance suite passes", async () => {
  await withOwnStack(async ({ stack, sql }) => {
    // PostgREST's sessions have planned whatever the suite has them do.
    const before = await conformance(stack);
    assert.ok(before.passed > 150, String(before.passed));
    await addColumnToEveryTable(sql);
    assert.deepEqual(await conformance(stack), before);
  }, { functionNames: ["agent-artifacts", "agent-mesh"] });
});

/** Fails, with all that was printed, where a check of the suite does. */
async function conformance(stack: Stack): Promise<TestCounts> {
  const output: string[] = [];
  const counts = addCounts(
    await runConformance({
      connection: { SUPABASE_URL: stack.url, SUPABASE_SECRET_KEY: stack.secretKey },
      onOutput: (text) => output.push(text),
    }),
  );
  assert.equal(counts.failed, 0, output.join("\n"));
  return counts;
}
