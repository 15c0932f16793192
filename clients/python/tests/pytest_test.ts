/** The tests in Python: pytest, on the stack. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { runProgram } from "../../../packages/local/processes/run_program.ts";
import { SECRET_KEY, SUPABASE_URL } from "../../../tests/conformance/client.ts";
import { interpreter, PYTHON_ENVIRONMENT, PYTHON_PACKAGE } from "./interpreter.ts";

Deno.test("pytest → hand-overs, tasks and cancellations in asyncio, in trio and in threads", async () => {
  const { code, output, errors } = await runProgram(await interpreter(), {
    args: [
      "-m",
      "pytest",
      "--quiet",
      "--durations=5",
      `--ignore=${join(PYTHON_PACKAGE, "tests/mesh")}`,
      join(PYTHON_PACKAGE, "tests"),
    ],
    cwd: PYTHON_PACKAGE,
    env: {
      ...PYTHON_ENVIRONMENT,
      URL: SUPABASE_URL,
      SECRET_KEY,
    },
  });
  console.log(output);
  assert.equal(code, 0, output + errors);
});
