/** The programs of docs/frameworks.md, as a reader pastes them, but for the model: a script. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { AgentFiles } from "../../../packages/agent-files/index.ts";
import { withFolder } from "../../../packages/agent-files/tests/folders/sample.ts";
import { PROJECT } from "../../../packages/local/project.ts";
import { type Agent, createAgent, SUPABASE_URL } from "../../conformance/client.ts";
import { documentedBlock } from "../../docs/blocks/documentation.ts";
import { type Framework, FRAMEWORKS, program, requirementsOf, runAs } from "./cast.ts";

type Changes = Readonly<Record<string, string>>;

async function twoAgents(): Promise<readonly [Agent, Agent]> {
  return [await createAgent("planner"), await createAgent("builder")];
}

function filesOf({ key }: Agent): AgentFiles {
  return new AgentFiles({ url: SUPABASE_URL, key });
}

/** Runs a block of the page, with changes that must apply. Resolves to its output. */
async function pasted(
  section: string,
  { agents, framework, changes, args = [] }: {
    readonly agents: readonly [Agent, Agent];
    readonly framework: Framework;
    readonly changes: Changes;
    readonly args?: readonly string[];
  },
): Promise<string> {
  let block = await documentedBlock(`docs/frameworks.md, ${section}, 1`);
  for (const [from, to] of Object.entries(changes)) {
    assert.ok(block.includes(from), from);
    block = block.replaceAll(from, to);
  }
  const { code, output, errors } = await runAs(agents, framework, ["-c", block, ...args]);
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

Deno.test("the versions of Python frameworks on the page → those that are installed", async () => {
  const page = await readFile(join(PROJECT, "docs/frameworks.md"), "utf8");
  const [python = ""] = page.split(/^\| TypeScript/m);
  const named = [...python.matchAll(/^\| ([a-z][a-z0-9-]+) (\d[\d.]+) +\|/gm)];
  const pins = (await Promise.all(FRAMEWORKS.map((name) => readFile(requirementsOf(name), "utf8"))))
    .join("\n").replace("pydantic-ai-slim==", "pydantic-ai==").split("\n");
  assert.equal(named.length, 8);
  assert.deepEqual(named.filter(([, name, version]) => !pins.includes(`${name}==${version}`)), []);
});

Deno.test("google-adk of the page → a drawing among the agent's files, and a plan for the builder", async () => {
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
});

Deno.test("a2a of the page → the file, at the other agent", () =>
  withFolder(async (folder) => {
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
  }));

Deno.test("openai-agents of the page → takes the task, and answers it", () =>
  builds("openai-agents", "openai", {
    "import asyncio, os\n": "import asyncio, os\nfrom scripted_openai import Scripted\n",
    '"gpt-5.2"': "Scripted()",
  }));

Deno.test("pydantic-ai of the page → takes the task, and answers it", () =>
  builds("pydantic-ai", "pydantic", {
    "import asyncio, os\n": "import asyncio, os\nfrom scripted_pydantic import scripted_model\n",
    '"openai:gpt-5.2"': "scripted_model",
  }));

const LANGGRAPH = {
  "import asyncio, os\n": "import asyncio, os\nfrom scripted_langgraph import Scripted\n",
  '"openai:gpt-5.2"': "Scripted()",
};

Deno.test("langgraph of the page → takes the task, and answers it", () =>
  builds("langgraph", "langgraph", LANGGRAPH));

Deno.test("the graph of the page that waits for a file → stops before it; goes on with the answer, and not with another file", async () => {
  const agents = await twoAgents();
  const [planner, builder] = agents;
  const answer = async () => {
    const files = filesOf(builder);
    for await (const task of files.tasks({ signal: AbortSignal.timeout(120_000) })) {
      // The newest of the inbox comes first: one of these does, whenever the program looks.
      await files.put("before.txt", "another file", { to: [planner.id] });
      await task.done({ reply: (await task.text()).toUpperCase() });
      await files.put("after.txt", "another file", { to: [planner.id] });
      break;
    }
  };
  const [output] = await Promise.all([
    pasted("A graph that waits for a file", {
      agents,
      framework: "langgraph",
      changes: { '"builder"]': 'os.environ["BUILDER"]]' },
    }),
    answer(),
  ]);
  assert.equal(output, "Next: ('receive',)\nBuilt: A HOUSE\n");
});

Deno.test("deepagents by the same arguments → takes the task, and answers it", () =>
  builds("langgraph", "langgraph", {
    ...LANGGRAPH,
    "from langchain.agents import create_agent": "from deepagents import create_deep_agent",
    "create_agent(": "create_deep_agent(",
  }));

Deno.test("mcp of the page, at both functions → the tools, and an answer", async () => {
  const agents = await twoAgents();
  const artifacts = await pasted("mcp", { agents, framework: "mcp", changes: {} });
  assert.match(artifacts, /'hand_over'.*\]\nFalse\n$/s);
  const mesh = await pasted("mcp", {
    agents,
    framework: "mcp",
    changes: { "agent-artifacts": "agent-mesh" },
  });
  assert.match(mesh, /'netmap'.*\]\nFalse\n$/s);
});

Deno.test("fastmcp, at both functions → the tools, and a file for the builder", async () => {
  const agents = await twoAgents();
  const { code, output, errors } = await runAs(agents, "mcp", [program("fastmcp_client.py")]);
  assert.equal(code, 0, errors);
  assert.match(output, /'hand_over'.*\n.*'netmap'/);
  const [grant] = await Array.fromAsync(filesOf(agents[1]).inbox());
  assert.equal(grant?.key, "plan.txt");
});
