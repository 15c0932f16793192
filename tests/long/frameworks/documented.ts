/**
 * The programs of docs/frameworks.md for Python, as a reader pastes them, but for the model, which
 * is a script. Each hands over between two agents.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { AgentFiles } from "../../../packages/agent-files/index.ts";
import { withFolder } from "../../../packages/agent-files/tests/folders/sample.ts";
import { PROJECT } from "../../../packages/local/project.ts";
import { type Agent, createAgent, SUPABASE_URL } from "../../conformance/client.ts";
import { documentedBlock } from "../../docs/blocks/documentation.ts";
import { succeed } from "../runtimes/tools.ts";
import { type Framework, program, pythonOf, runAs } from "./cast.ts";

export type Changes = Readonly<Record<string, string>>;

export async function twoAgents(): Promise<readonly [Agent, Agent]> {
  return [await createAgent("planner"), await createAgent("builder")];
}

export function filesOf({ key }: Agent): AgentFiles {
  return new AgentFiles({ url: SUPABASE_URL, key });
}

interface Pasted {
  readonly agents: readonly [Agent, Agent];
  readonly framework: Framework;
  readonly changes: Changes;
}

/** Runs a block of the page, with changes that must apply. */
export async function run(section: string, { agents, framework, changes }: Pasted) {
  let block = await documentedBlock(`docs/frameworks.md, ${section}, 1`);
  for (const [from, to] of Object.entries(changes)) {
    assert.ok(block.includes(from), from);
    block = block.replaceAll(from, to);
  }
  return await runAs(agents, framework, ["-c", block]);
}

/** Runs a block that must succeed. Resolves to its output. */
export async function pasted(section: string, given: Pasted): Promise<string> {
  const { code, output, errors } = await run(section, given);
  assert.equal(code, 0, output + errors);
  return output;
}

/** A plan waits for the second agent. Its program builds it, and answers. */
async function builds(section: string, framework: Framework, changes: Changes): Promise<void> {
  const [planner, builder] = await twoAgents();
  const giver = filesOf(planner);
  const given = await giver.put("plan.txt", "a house", { to: [builder.id], note: "Build it." });
  const output = await pasted(section, { agents: [builder, planner], framework, changes });
  assert.equal(output, "Built plan.txt.\n");
  const replies = await Array.fromAsync(giver.inbox());
  assert.deepEqual(
    replies.map(({ key, reply_to }) => [key, reply_to]),
    [["built.txt", given.grants[0]?.grant_id]],
  );
  const { body } = await giver.get(replies[0]!.artifact_id);
  assert.equal(await new Response(body).text(), "A HOUSE");
  assert.deepEqual(await Array.fromAsync(filesOf(builder).inbox()), []);
}

async function byAdk(): Promise<void> {
  const agents = await twoAgents();
  const [planner, builder] = agents;
  const output = await pasted("google-adk", {
    agents,
    framework: "adk",
    changes: {
      "import asyncio, os\n": "import asyncio, os\nfrom scripted_adk import Scripted\n",
      '"gemini-3-pro"': 'Scripted(model="scripted")',
    },
  });
  assert.equal(output, "Handed over.\n");
  const [grant] = await Array.fromAsync(filesOf(builder).inbox());
  assert.deepEqual([grant?.key, grant?.note], ["plan.txt", "Build it."]);
  const [drawn] = await Array.fromAsync(
    filesOf(planner).list({ prefix: "adk/house/ann/sessions/" }),
  );
  assert.ok(drawn?.key.endsWith("/house.txt"));
}

async function byA2a(): Promise<void> {
  await withFolder(async (folder) => {
    const agents = await twoAgents();
    const output = await pasted("a2a", {
      agents,
      framework: "a2a",
      changes: {
        'to_agent="builder"': 'to_agent=os.environ["BUILDER"]',
        'part, "house.txt"': `part, ${JSON.stringify(join(folder, "house.txt"))}`,
      },
    });
    assert.equal(output, "house.txt text/plain\n");
    assert.equal(await readFile(join(folder, "house.txt"), "utf8"), "a house");
  });
}

async function byMcp(): Promise<void> {
  const agents = await twoAgents();
  const artifacts = await pasted("mcp", { agents, framework: "mcp", changes: {} });
  assert.match(artifacts, /'hand_over'.*\]\nFalse\n$/s);
  const mesh = await pasted("mcp", {
    agents,
    framework: "mcp",
    changes: { "agent-artifacts": "agent-mesh" },
  });
  assert.match(mesh, /'netmap'.*\]\nFalse\n$/s);
}

async function byFastmcp(): Promise<void> {
  const agents = await twoAgents();
  const { code, output, errors } = await runAs(agents, "mcp", [program("fastmcp_client.py")]);
  assert.equal(code, 0, errors);
  assert.match(output, /'hand_over'.*\n.*'netmap'/);
  const [grant] = await Array.fromAsync(filesOf(agents[1]).inbox());
  assert.equal(grant?.key, "plan.txt");
}

const LANGGRAPH = {
  "import asyncio, os\n": "import asyncio, os\nfrom scripted_langgraph import Scripted\n",
  '"openai:gpt-5.2"': "Scripted()",
};

interface HandOver {
  readonly framework: Framework;
  /** What the program does, for the name of its test. */
  readonly does: string;
  readonly run: () => Promise<void>;
}

const ANSWERS = "takes the task, and answers it";

/** By the names of the packages. */
export const HAND_OVERS = {
  "google-adk": {
    framework: "adk",
    does: "a drawing among the agent's files, and a plan for the builder",
    run: byAdk,
  },
  "a2a-sdk": { framework: "a2a", does: "the file, at the other agent", run: byA2a },
  "openai-agents": {
    framework: "openai",
    does: ANSWERS,
    run: () =>
      builds("openai-agents", "openai", {
        "import asyncio, os\n": "import asyncio, os\nfrom scripted_openai import Scripted\n",
        '"gpt-5.2"': "Scripted()",
      }),
  },
  "pydantic-ai-slim": {
    framework: "pydantic",
    does: ANSWERS,
    run: () =>
      builds("pydantic-ai", "pydantic", {
        "import asyncio, os\n":
          "import asyncio, os\nfrom scripted_pydantic import scripted_model\n",
        '"openai:gpt-5.2"': "scripted_model",
      }),
  },
  "claude-agent-sdk": {
    framework: "claude",
    does: `with Claude Code, ${ANSWERS}`,
    run: () =>
      builds("claude-agent-sdk", "claude", {
        "import asyncio, os\n": "import asyncio, os\nimport scripted_claude\n",
      }),
  },
  "langgraph": {
    framework: "langgraph",
    does: ANSWERS,
    run: () => builds("langgraph", "langgraph", LANGGRAPH),
  },
  "deepagents": {
    framework: "langgraph",
    does: `by the arguments of langgraph, ${ANSWERS}`,
    run: () =>
      builds("langgraph", "langgraph", {
        ...LANGGRAPH,
        "from langchain.agents import create_agent": "from deepagents import create_deep_agent",
        "create_agent(": "create_deep_agent(",
      }),
  },
  "mcp": {
    framework: "mcp",
    does: "at both functions, the tools, and an answer",
    run: byMcp,
  },
  "fastmcp": {
    framework: "mcp",
    does: "at both functions, the tools, and a file for the builder",
    run: byFastmcp,
  },
} as const satisfies Readonly<Record<string, HandOver>>;

export type PythonFramework = keyof typeof HAND_OVERS;

/** The version of a package, as the Python that has it says. */
export async function pythonVersionOf(name: PythonFramework): Promise<string> {
  const script = `import importlib.metadata; print(importlib.metadata.version("${name}"))`;
  const python = await pythonOf(HAND_OVERS[name].framework);
  return (await succeed(python, ["-c", script], { cwd: PROJECT })).trim();
}
