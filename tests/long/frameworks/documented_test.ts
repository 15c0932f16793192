/** The programs of docs/frameworks.md for Python, as a reader pastes them, but for the model. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { withFolder } from "../../../packages/agent-files/tests/folders/sample.ts";
import { PROJECT } from "../../../packages/local/project.ts";
import { type Framework, FRAMEWORKS, requirementsOf } from "./cast.ts";
import { type Changes, filesOf, HAND_OVERS, pasted, run, twoAgents } from "./documented.ts";

Deno.test("the versions of Python frameworks on the page → those that are installed", async () => {
  const page = await readFile(join(PROJECT, "docs/frameworks.md"), "utf8");
  const [python = ""] = page.split(/^\| TypeScript/m);
  const named = [...python.matchAll(/^\| ([a-z][a-z0-9-]+) (\d[\d.]+) +\|/gm)];
  const pins = (await Promise.all(FRAMEWORKS.map((name) => readFile(requirementsOf(name), "utf8"))))
    .join("\n").replace("pydantic-ai-slim==", "pydantic-ai==").split("\n");
  assert.equal(named.length, 9);
  assert.deepEqual(named.filter(([, name, version]) => !pins.includes(`${name}==${version}`)), []);
});

for (const [name, handOver] of Object.entries(HAND_OVERS)) {
  Deno.test(`${name} of the page → ${handOver.does}`, handOver.run);
}

const RUN = "A run for each task";
const ENDS = { "files.tasks()": "files.tasks(wait=False)" };

/** The program of the page, with each framework that it names. It ends when nothing waits. */
const RUNS_FOR_TASKS: readonly (readonly [string, Framework, Changes])[] = [
  ["openai-agents", "openai", {
    ...ENDS,
    "from agents import Agent, Runner\n":
      "from agents import Agent, Runner\nfrom scripted_openai import Builder\n",
    '"gpt-5.2"': "Builder()",
  }],
  ["pydantic-ai", "pydantic", {
    ...ENDS,
    "from agents import Agent, Runner\n":
      "from pydantic_ai import Agent\nfrom scripted_pydantic import building_model\n",
    'Agent(name="builder", model="gpt-5.2", instructions="Build what you are asked for.")':
      "Agent(building_model)",
    "Runner.run(agent, await task.text())": "agent.run(await task.text())",
    "result.final_output": "result.output",
  }],
  ["claude-agent-sdk", "claude", {
    ...ENDS,
    "from agents import Agent, Runner\n":
      "import scripted_claude\nfrom claude_agent_sdk import ClaudeAgentOptions, query\n",
    'Agent(name="builder", model="gpt-5.2", instructions="Build what you are asked for.")':
      "ClaudeAgentOptions(tools=[], setting_sources=[])",
    "result = await Runner.run(agent, await task.text())":
      "async for result in query(prompt=await task.text(), options=agent): pass",
    "result.final_output": "result.result",
  }],
];

for (const [name, framework, changes] of RUNS_FOR_TASKS) {
  Deno.test(`a run of ${name} for each task, as on the page → its last words answer the task`, async () => {
    const [planner, builder] = await twoAgents();
    const giver = filesOf(planner);
    const { grants: [given] } = await giver.put("plan.txt", "a house", { to: [builder.id] });
    const agents = [builder, planner] as const;
    const { code, output, errors } = await run(RUN, { agents, framework, changes });
    assert.equal(code, 0, output + errors);
    const [reply, ...others] = await Array.fromAsync(giver.inbox());
    assert.deepEqual([reply?.key, reply?.reply_to], ["replies/plan.txt", given?.grant_id]);
    assert.deepEqual(others, []);
    const { body } = await giver.get(reply!.artifact_id);
    assert.equal(await new Response(body).text(), "A HOUSE");
  });
}

Deno.test("a run that fails, as on the page → the task waits for its next attempt, without an answer", async () => {
  const [planner, builder] = await twoAgents();
  const giver = filesOf(planner);
  await giver.put("plan.txt", "a hole", { to: [builder.id] });
  const [, framework, changes] = RUNS_FOR_TASKS[0]!;
  const { code, errors } = await run(RUN, { agents: [builder, planner], framework, changes });
  assert.notEqual(code, 0);
  assert.match(errors, /ValueError: A hole cannot be built\.\n$/);
  const [grant] = await Array.fromAsync(giver.grants());
  assert.deepEqual([grant?.state, grant?.attempt], ["waiting", 1]);
  assert.match(grant?.reason ?? "", /ValueError/);
  assert.deepEqual(await Array.fromAsync(giver.inbox()), []);
});

Deno.test("the graph of the page that waits for a file → its process ends; another one goes on with the answer, and not with another file", () =>
  withFolder(async (folder) => {
    const agents = await twoAgents();
    const [planner, builder] = agents;
    const graph = () =>
      pasted("A graph that waits for a file", {
        agents,
        framework: "langgraph",
        changes: {
          '"builder"]': 'os.environ["BUILDER"]]',
          "house.sqlite": join(folder, "house.sqlite"),
        },
      });
    assert.equal(await graph(), "Ordered.\n");
    const files = filesOf(builder);
    for await (const task of files.tasks({ wait: false })) {
      // The newest of the inbox comes first: one of these does, whenever the program looks.
      await files.put("before.txt", "another file", { to: [planner.id] });
      await task.done({ reply: (await task.text()).toUpperCase() });
      await files.put("after.txt", "another file", { to: [planner.id] });
    }
    assert.equal(await graph(), "Built: A HOUSE\n");
    assert.deepEqual((await Array.fromAsync(files.inbox())).length, 0);
  }));
