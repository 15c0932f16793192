/** The scenarios that the TypeScript client passes, too, with the Python client. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { assertOutcomes } from "../../../packages/agent-files/tests/scenarios/scenario.ts";
import { SCENARIOS } from "../../../packages/agent-files/tests/scenarios/table.ts";
import { runProgram } from "../../../packages/local/processes/run_program.ts";
import { createAgent, SUPABASE_URL } from "../../../tests/conformance/client.ts";
import { interpreter, PYTHON_ENVIRONMENT, PYTHON_PACKAGE } from "./interpreter.ts";

Deno.test("Python: every scenario of the TypeScript client → the same answers and errors", async (test) => {
  const scenarios = await Promise.all(SCENARIOS.map(async ({ steps }) => {
    const [planner, builder] = [await createAgent("planner"), await createAgent("builder")];
    return {
      steps,
      keys: { planner: planner.key, builder: builder.key, stranger: "ak_unknown" },
      ids: { planner: planner.id, builder: builder.id, "planner-2": `${planner.id}-2` },
    };
  }));
  const { code, output, errors } = await runProgram(await interpreter(), {
    args: [join(PYTHON_PACKAGE, "tests/scenarios.py")],
    env: PYTHON_ENVIRONMENT,
    input: JSON.stringify({ url: SUPABASE_URL, scenarios }),
  });
  assert.equal(code, 0, errors);
  const outcomes = JSON.parse(output);
  for (const [index, scenario] of SCENARIOS.entries()) {
    await test.step(
      scenario.name,
      () => assertOutcomes(scenario, outcomes[index], scenarios[index]!.ids),
    );
  }
});
