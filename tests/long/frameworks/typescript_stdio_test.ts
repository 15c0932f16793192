/** The TypeScript programs of docs/frameworks.md, with `agentfiles mcp` instead of the function. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { bundleCommandLine } from "../../../dev/clients/bundle.ts";
import { copySources } from "../../../dev/clients/client_sources.ts";
import { AgentFiles } from "../../../packages/agent-files/index.ts";
import { withFolder } from "../../../packages/agent-files/tests/folders/sample.ts";
import { PROJECT } from "../../../packages/local/project.ts";
import { createAgent, SUPABASE_URL } from "../../conformance/client.ts";
import { documentedBlock } from "../../docs/blocks/documentation.ts";
import {
  programOf,
  runAgent,
  TYPESCRIPT_FRAMEWORKS,
  type TypeScriptFramework,
  withoutLog,
} from "./typescript.ts";

/** What each program has for the function. The page names what takes its place. */
const SERVERS: Readonly<Record<TypeScriptFramework, RegExp>> = {
  "ai": /transport: \{.*?\n {2}\}/s,
  "@openai/agents": /new MCPServerStreamableHttp\(.*?\n\}\)/s,
  "@mastra/core": /artifacts: \{.*?\n {4}\}/s,
  "@langchain/langgraph": /artifacts: \{.*?\n {2}\}/s,
  "@google/adk": /new MCPToolset\(.*?\n\}\)/s,
};

/** The program of the page, after the changes that its section "By paths" names. */
async function programByPaths(framework: TypeScriptFramework): Promise<string> {
  const page = await readFile(join(PROJECT, "docs/frameworks.md"), "utf8");
  const [row] = page.split("\n").filter((line) => line.startsWith(`- \`${framework}\`: `));
  const [, server = "", module = framework] = [...row!.matchAll(/`([^`]+)`/g)].map(([, it]) => it);
  const program = await programOf(framework);
  assert.match(program, SERVERS[framework]);
  const [name] = /\w*Stdio\w*(?=\()/.exec(server) ?? [];
  return [
    name === undefined ? "" : `import { ${name} } from "${module}";`,
    await documentedBlock("docs/frameworks.md, By paths, 1"),
    program.replace(SERVERS[framework], () => server),
  ].join("\n");
}

/** Has one agent hand over a file by its path, and another answer it by the file that it got. */
async function handOver(framework: TypeScriptFramework) {
  const [planner, builder] = [await createAgent("planner"), await createAgent("builder")];
  const giver = new AgentFiles({ url: SUPABASE_URL, key: planner.key });
  const said: string[] = [];
  await withFolder(async (folder) => {
    await using sources = await copySources();
    await bundleCommandLine(sources.path, join(folder, "agentfiles"));
    const { code, output, errors } = await runAgent(await programByPaths(framework), {
      commands: `
        printf "a house" > plan.txt
        AGENT_KEY=$PLANNER_KEY node agent.mjs "Hand plan.txt to the builder."
        AGENT_KEY=$BUILDER_KEY node agent.mjs "Answer what is waiting by its own file."`,
      env: {
        AGENT_URL: SUPABASE_URL,
        PLANNER_KEY: planner.key,
        BUILDER_KEY: builder.key,
        BUILDER: builder.id,
      },
      path: [folder],
    });
    assert.equal(code, 0, output + errors);
    said.push(...withoutLog(output).trimEnd().split("\n"));
  });
  const [grant] = await Array.fromAsync(giver.grants());
  assert.equal(said[0], `Handed over: ${grant?.grant_id}.`);
  return { giver, grant: grant!, said: said[1] };
}

for (const framework of TYPESCRIPT_FRAMEWORKS.filter((name) => name !== "@google/adk")) {
  Deno.test(`${framework} with agentfiles mcp, as on the page → one agent hands a file over by its path, another takes and answers it`, async () => {
    const { giver, grant, said } = await handOver(framework);
    assert.deepEqual([said, grant.state], ["Built plan.txt: done.", "done"]);
    const [reply] = await Array.fromAsync(giver.inbox());
    assert.deepEqual([reply?.key, reply?.reply_to], ["built.txt", grant.grant_id]);
    const { body } = await giver.get(reply!.artifact_id);
    assert.equal(await new Response(body).text(), "a house");
  });
}

Deno.test("@google/adk with agentfiles mcp, as on the page → hands a file over by its path; a task is given back after each call, and waits again", async () => {
  const { giver, grant, said } = await handOver("@google/adk");
  assert.deepEqual([said, grant.state], ["Built plan.txt: take_lapsed.", "waiting"]);
  assert.deepEqual(await Array.fromAsync(giver.inbox()), []);
});
