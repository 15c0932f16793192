/** The real frameworks, each in an environment of its own, and programs that use them. */
import { delimiter, join } from "node:path";
import { interpreter, PYTHON_ENVIRONMENT } from "../../../clients/python/tests/interpreter.ts";
import { runProgram } from "../../../packages/local/processes/run_program.ts";
import { type Agent, SUPABASE_URL } from "../../conformance/client.ts";

const HERE = import.meta.dirname!;

/** Frameworks, by the names of their files in `requirements/`. */
export const FRAMEWORKS = [
  "adk",
  "a2a",
  "openai",
  "pydantic",
  "claude",
  "langgraph",
  "mcp",
  "fastmcp_tasks",
] as const;

export type Framework = typeof FRAMEWORKS[number];

/** The file with the exact versions of a framework and of what it needs. */
export function requirementsOf(framework: Framework): string {
  return join(HERE, "requirements", `${framework}.txt`);
}

/** The Python that has a framework, in the versions of its file. */
export function pythonOf(framework: Framework): Promise<string> {
  return interpreter(undefined, requirementsOf(framework));
}

/** The path of a program in `programs/`. */
export function program(name: string): string {
  return join(HERE, "programs", name);
}

/**
 * Runs Python with a framework, as two agents that are strangers to all others. `url`: their
 * service, by default the stack of the tests. `environment`: more variables.
 */
export async function runAs(
  [planner, builder]: readonly [Agent, Agent],
  framework: Framework,
  args: readonly string[],
  { url = SUPABASE_URL, environment = {}, cwd }: {
    readonly url?: string;
    readonly cwd?: string;
    readonly environment?: Readonly<Record<string, string>>;
  } = {},
) {
  return await runProgram(await pythonOf(framework), {
    args: [...args],
    ...(cwd !== undefined && { cwd }),
    env: {
      ...PYTHON_ENVIRONMENT,
      PYTHONPATH: [PYTHON_ENVIRONMENT.PYTHONPATH, join(HERE, "programs")].join(delimiter),
      AGENT_URL: url,
      AGENT_KEY: planner.key,
      BUILDER_KEY: builder.key,
      BUILDER: builder.id,
      // No framework reports to anybody.
      OPENAI_AGENTS_DISABLE_TRACING: "1",
      LANGSMITH_TRACING: "false",
      FASTMCP_CHECK_FOR_UPDATES: "off",
      ...environment,
    },
  });
}
