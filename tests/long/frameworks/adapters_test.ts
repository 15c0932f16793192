/** The adapters of the Python package, with the real frameworks. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { interpreter, PYTHON_PACKAGE } from "../../../clients/python/tests/interpreter.ts";
import { runProgram } from "../../../packages/local/processes/run_program.ts";
import { createAgent } from "../../conformance/client.ts";
import { type Framework, program, pythonOf, runAs } from "./cast.ts";

const ADAPTERS = [
  [
    "adk",
    "adk_service.py",
    "google-adk: artifacts are saved, loaded, listed and deleted as in its own service",
  ],
  [
    "a2a",
    "a2a_parts.py",
    "a2a-sdk: a part leads to a file, for its agent alone; a part that lies is refused",
  ],
] as const satisfies readonly (readonly [Framework, string, string])[];

for (const [framework, name, title] of ADAPTERS) {
  Deno.test(title, async () => {
    const agents = [await createAgent("planner"), await createAgent("builder")] as const;
    const { code, output, errors } = await runAs(agents, framework, [program(name)]);
    assert.equal(code, 0, output + errors);
    assert.match(output, /^passed$/m);
  });

  Deno.test(`mypy, strict, of agent_files/${framework}.py → no error`, async () => {
    const { code, output, errors } = await runProgram(await interpreter(), {
      args: [
        "-m",
        "mypy",
        "--cache-dir=/dev/null",
        "--ignore-missing-imports",
        `--python-executable=${await pythonOf(framework)}`,
        join("agent_files", `${framework}.py`),
      ],
      cwd: PYTHON_PACKAGE,
    });
    assert.equal(code, 0, output + errors);
  });
}
