/** The tests in Python: pytest, with agents of the stack. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { runProgram } from "../../../packages/local/processes/run_program.ts";
import { createAgent, SUPABASE_URL } from "../../../tests/conformance/client.ts";
import { interpreter, PYTHON_ENVIRONMENT, PYTHON_PACKAGE } from "./interpreter.ts";

/** As many as the tests of one run need: each takes agents of its own. */
const AGENTS = 150;

Deno.test("pytest → hand-overs, tasks and cancellations in asyncio, in trio and in threads", async () => {
  const agents = [];
  while (agents.length < AGENTS) {
    agents.push(...await Promise.all(Array.from({ length: 10 }, () => createAgent("python"))));
  }
  const { code, output, errors } = await runProgram(await interpreter(), {
    args: ["-m", "pytest", "--quiet", "--durations=5", join(PYTHON_PACKAGE, "tests")],
    cwd: PYTHON_PACKAGE,
    env: {
      ...PYTHON_ENVIRONMENT,
      URL: SUPABASE_URL,
      AGENTS: JSON.stringify(agents.map(({ id, key }) => [id, key])),
    },
  });
  console.log(output);
  assert.equal(code, 0, output + errors);
});
