/** The adapters of the Python package, with the real frameworks. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { interpreter, PYTHON_PACKAGE } from "../../../clients/python/tests/interpreter.ts";
import { runProgram } from "../../../packages/local/processes/run_program.ts";
import type { Agent } from "../../conformance/client.ts";
import { withOwnStack } from "../../database/own_stack.ts";
import type { Stack } from "../../../packages/local/stack/stack.ts";
import { type Framework, program, pythonOf, runAs } from "./cast.ts";

const ADAPTERS = [
  [
    "adk",
    "adk.py",
    "adk_service.py",
    "google-adk: artifacts are saved, loaded, listed and deleted as in its own service",
  ],
  [
    "a2a",
    "a2a.py",
    "a2a_parts.py",
    "a2a-sdk: a part leads to a file, for its agent alone; a part that lies is refused",
  ],
  [
    "langgraph",
    "deepagents.py",
    "deepagents_files.py",
    "deepagents: files are written, edited, searched and deleted as in its own backend of a store",
  ],
  [
    "claude",
    "claude.py",
    "claude_tools.py",
    "claude-agent-sdk: the tools with their fields; a refusal, and wrong fields, are errors that the model reads",
  ],
] as const satisfies readonly (readonly [Framework, string, string, string])[];

async function createAgentIn(stack: Stack, id: string): Promise<Agent> {
  const response = await fetch(`${stack.url}/rest/v1/rpc/agent_api_create_agent_key`, {
    method: "POST",
    headers: { apikey: stack.secretKey, "content-type": "application/json" },
    body: JSON.stringify({ agent_id: id }),
  });
  const { key, key_id } = await response.json();
  assert.equal(response.status, 200);
  return { id, key, keyId: key_id };
}

for (const [framework, module, name, title] of ADAPTERS) {
  // On a stack of its own: after a restore, which another test may have made, versions begin with
  // larger numbers, and a framework's own service counts from zero.
  Deno.test(title, () =>
    withOwnStack(async ({ stack }) => {
      const agents = [
        await createAgentIn(stack, "planner"),
        await createAgentIn(stack, "builder"),
      ] as const;
      const { code, output, errors } = await runAs(
        agents,
        framework,
        [program(name)],
        { url: stack.url },
      );
      assert.equal(code, 0, output + errors);
      assert.match(output, /^passed$/m);
    }));

  Deno.test(`mypy, strict, of agent_files/${module} → no error`, async () => {
    const { code, output, errors } = await runProgram(await interpreter(), {
      args: [
        "-m",
        "mypy",
        "--cache-dir=/dev/null",
        "--ignore-missing-imports",
        `--python-executable=${await pythonOf(framework)}`,
        join("agent_files", module),
      ],
      cwd: PYTHON_PACKAGE,
    });
    assert.equal(code, 0, output + errors);
  });
}
