/** Runs Python scripts with two agents. */
import assert from "node:assert/strict";
import { runProgram } from "../../../packages/local/processes/run_program.ts";
import { type Agent, createAgent, SUPABASE_URL } from "../../../tests/conformance/client.ts";
import { interpreter, PYTHON_ENVIRONMENT } from "./interpreter.ts";

type Caller = Pick<Agent, "id" | "key">;

/** Runs a Python script that has clients of both agents. */
export async function python(
  script: string,
  [planner, builder]: readonly [Caller, Caller],
  environment: Record<string, string> = {},
) {
  const folder = await Deno.makeTempDir();
  try {
    const { code, output, errors } = await runProgram(await interpreter(), {
      args: ["-c", `${PRELUDE}\n${script}`],
      cwd: folder,
      env: {
        ...PYTHON_ENVIRONMENT,
        URL: SUPABASE_URL,
        PLANNER: `${planner.id} ${planner.key}`,
        BUILDER: `${builder.id} ${builder.key}`,
        ...environment,
      },
    });
    assert.equal(code, 0, errors);
    return JSON.parse(output);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const PRELUDE = `
import asyncio, io, json, os, pathlib, threading, time
from agent_files import AgentError, AgentFiles
def files(name, **options):
    agent_id, key = os.environ[name].split()
    return AgentFiles(os.environ["URL"], key, agent_id=agent_id, **options)
def refusal(act):
    try:
        act()
    except AgentError as error:
        return [error.code, error.status, error.retryable, error.request_id is not None]
planner, builder = files("PLANNER"), files("BUILDER")
builder_id = os.environ["BUILDER"].split()[0]
planner_id = os.environ["PLANNER"].split()[0]
`;

export async function twoAgents(): Promise<readonly [Agent, Agent]> {
  return [await createAgent("planner"), await createAgent("builder")];
}
