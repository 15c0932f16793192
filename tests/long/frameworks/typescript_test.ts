/** The TypeScript programs of docs/frameworks.md, as a reader pastes them, but for the model. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { AgentFiles } from "../../../packages/agent-files/index.ts";
import { PROJECT } from "../../../packages/local/project.ts";
import { leavesUnchanged, publish } from "../../conformance/artifacts.ts";
import { createAgent, SUPABASE_URL } from "../../conformance/client.ts";
import { documentedBlock } from "../../docs/blocks/documentation.ts";
import { programOf, runAgent, TYPESCRIPT_FRAMEWORKS, versionOf, withoutLog } from "./typescript.ts";

Deno.test("the versions of TypeScript frameworks on the page → those that are installed", async () => {
  const page = await readFile(join(PROJECT, "docs/frameworks.md"), "utf8");
  for (const name of TYPESCRIPT_FRAMEWORKS) {
    assert.ok(page.includes(`\n| ${name} ${await versionOf(name)} `), name);
  }
});

for (const framework of TYPESCRIPT_FRAMEWORKS) {
  Deno.test(`${framework} of the page → one agent hands over, another takes the task and answers it; a refusal is told to the model`, async () => {
    const [planner, builder, stranger] = [
      await createAgent("planner"),
      await createAgent("builder"),
      await createAgent("stranger"),
    ];
    const program = await programOf(framework);
    const env = {
      AGENT_URL: SUPABASE_URL,
      PLANNER_KEY: planner.key,
      BUILDER_KEY: builder.key,
      BUILDER: builder.id,
    };
    const commands = await documentedBlock("docs/frameworks.md, TypeScript, 1");
    const { code, output, errors } = await runAgent(program, { commands, env });
    assert.equal(code, 0, output + errors);
    const giver = new AgentFiles({ url: SUPABASE_URL, key: planner.key });
    const [reply, ...others] = await Array.fromAsync(giver.inbox());
    assert.deepEqual(others, []);
    assert.equal(
      withoutLog(output),
      `Handed over: ${reply?.reply_to}.\nBuilt plan.txt: done.\n`,
    );
    assert.deepEqual([reply?.key, reply?.from_agent], ["built.txt", builder.id]);
    const { body } = await giver.get(reply!.artifact_id);
    assert.equal(await new Response(body).text(), "A HOUSE");
    const worker = new AgentFiles({ url: SUPABASE_URL, key: builder.key });
    assert.deepEqual(await Array.fromAsync(worker.inbox()), []);

    const closed = await publish(stranger);
    await leavesUnchanged([stranger, builder], async () => {
      const refused = await runAgent(program, {
        commands: 'AGENT_KEY=$BUILDER_KEY node agent.mjs "Open a file that is not ours."',
        env: { ...env, CLOSED_ID: closed.artifact_id },
      });
      assert.equal(refused.code, 0, refused.output + refused.errors);
      assert.match(refused.output, /^Refused: artifact_not_found\.$/m);
    });
  });
}
