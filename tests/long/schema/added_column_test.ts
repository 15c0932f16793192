import assert from "node:assert/strict";
import { runConformance } from "../../../dev/checks/conformance_run.ts";
import { addCounts, type TestCounts } from "../../../dev/checks/test_counts.ts";
import type { Stack } from "../../../local/stack/stack.ts";
import { withOwnStack } from "../../database/own_stack.ts";
import { addColumnToEveryTable } from "../../database/schema/added_column.ts";

Deno.test("a stack that runs, after a column was added to every table → the whole conformance suite passes", async () => {
  await withOwnStack(async ({ stack, sql }) => {
    // What sessions have planned before is the subject of tests/database/schema/.
    await addColumnToEveryTable(sql);
    const { passed } = await conformance(stack);
    assert.ok(passed > 300, String(passed));
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
