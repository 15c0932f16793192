import assert from "node:assert/strict";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { EXIT } from "../../packages/cli/exit_codes.ts";
import { COMMANDS } from "../../packages/cli/verbs.ts";
import { agentFiles } from "../../packages/agent-files/tests/cast.ts";
import { createAgent, SUPABASE_URL } from "../conformance/client.ts";
import { documentedBlock, readPage } from "./blocks/documentation.ts";
import { filledIn } from "./blocks/placeholders.ts";
import { Terminal } from "./blocks/terminal.ts";

Deno.test("docs/command-line.md, Log in → a file that nobody else can read", async () => {
  const { id, key } = await createAgent("reader");
  await using terminal = await Terminal.open({ environment: { AGENT_KEY: key } });
  const settings = join(terminal.home, ".config");
  const block = filledIn(await documentedBlock("docs/command-line.md, Log in, 1")).trimEnd();
  // `--agent` is only needed by deployments without /whoami. The key is what a reader would type.
  await terminal.paste(
    `export XDG_CONFIG_HOME='${settings}'\n${block} --agent ${id} <<< "$AGENT_KEY"\n`,
  );
  const file = join(settings, "agentfiles/login.json");
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.equal(JSON.parse(await readFile(file, "utf8")).key, key);
});

Deno.test("docs/command-line.md, Work → the giver gets what the program wrote", async () => {
  const [planner, builder] = [await agentFiles("planner"), await agentFiles("builder")];
  await planner.files.put("plan.txt", "one\ntwo\n", { to: [builder.agent.id] });
  const block = await documentedBlock("docs/command-line.md, Work, 1");
  await using terminal = await Terminal.open({
    environment: { AGENT_URL: SUPABASE_URL, BUILDER: builder.agent.key },
  });
  await terminal.paste(block);
  const [answer, ...others] = await Array.fromAsync(planner.files.inbox());
  assert.deepEqual([answer!.key, others], ["replies/plan.txt/lines.txt", []]);
  const { body } = await planner.files.get(answer!.artifact_id);
  assert.equal((await new Response(body as ReadableStream).text()).trim(), "2");
});

Deno.test("docs/command-line.md → every verb and every exit code", async () => {
  const page = await readPage("docs/command-line.md");
  const codes = Array.from(page.matchAll(/^\| (\d+) +\|/gm), ([, code]) => Number(code));
  assert.deepEqual(codes, [0, ...Object.values(EXIT)]);
  for (const verb of Object.keys(COMMANDS)) assert.match(page, new RegExp(`\`${verb}\\b`));
});
