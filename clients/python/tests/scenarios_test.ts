/** The scenarios that the TypeScript client passes, too, with the Python client. */
import assert from "node:assert/strict";
import { join } from "node:path";
import {
  assertNotInTesting,
  assertOutcomes,
  type Outcome,
} from "../../../packages/agent-files/tests/scenarios/scenario.ts";
import { SCENARIOS } from "../../../packages/agent-files/tests/scenarios/table.ts";
import { runProgram } from "../../../packages/local/processes/run_program.ts";
import { createAgent, SUPABASE_URL } from "../../../tests/conformance/client.ts";
import { interpreter, PYTHON_ENVIRONMENT, PYTHON_PACKAGE } from "./interpreter.ts";

async function outcomesOf(scenarios: readonly object[]): Promise<Outcome[][]> {
  const { code, output, errors } = await runProgram(await interpreter(), {
    args: [join(PYTHON_PACKAGE, "tests/scenarios.py")],
    env: PYTHON_ENVIRONMENT,
    input: JSON.stringify({ url: SUPABASE_URL, scenarios }),
  });
  assert.equal(code, 0, errors);
  return JSON.parse(output);
}

Deno.test("Python: every scenario of the TypeScript client → the same answers and errors", async (test) => {
  const scenarios = await Promise.all(SCENARIOS.map(async ({ steps }) => {
    const [planner, builder] = [await createAgent("planner"), await createAgent("builder")];
    return {
      steps,
      keys: { planner: planner.key, builder: builder.key, stranger: "ak_unknown" },
      ids: { planner: planner.id, builder: builder.id, "planner-2": `${planner.id}-2` },
    };
  }));
  const outcomes = await outcomesOf(scenarios);
  for (const [index, scenario] of SCENARIOS.entries()) {
    const { ids } = scenarios[index]!;
    await test.step(scenario.name, () => assertOutcomes(scenario, outcomes[index]!, ids));
  }
});

Deno.test("agent_files.testing: every scenario → as in the real service, or not_in_testing", async (test) => {
  const ids = { planner: "planner", builder: "builder", "planner-2": "planner-2" };
  const outcomes = await outcomesOf(SCENARIOS.map(({ steps }) => ({ steps, ids })));
  for (const [index, scenario] of SCENARIOS.entries()) {
    await test.step(scenario.name, () => {
      if (scenario.isNotInTesting) assertNotInTesting(outcomes[index]!);
      else assertOutcomes(scenario, outcomes[index]!, ids);
    });
  }
});
