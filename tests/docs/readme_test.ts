import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  awaitNothingLeft,
  openStateDirectory,
  readEnvironment,
} from "../../packages/local/tests/stack/stack_process.ts";
import { freePort } from "../../packages/local/processes/free_port.ts";
import { PROJECT } from "../../packages/local/project.ts";
import { agentFiles } from "../../packages/agent-files/tests/cast.ts";
import { SUPABASE_URL } from "../conformance/client.ts";
import { drawHandOver, pictureFile, THEMES, transcribed } from "../../dev/pictures/hand_over.ts";
import { documentedBlock, readPage } from "./blocks/documentation.ts";
import { Terminal } from "./blocks/terminal.ts";

const ARTIFACT_ID = /art_[0-9a-f]{32}/;

Deno.test("README, the first command → Ready, the env file, and after Ctrl-C nothing left", async () => {
  const [start, test, ...others] =
    (await documentedBlock("README.md, Agent artifacts and agent mesh, 1"))
      .trim().split("\n");
  await using state = await openStateDirectory();
  const port = await freePort();
  await using terminal = await Terminal.open({
    environment: { STATE_DIR: state.path, PORT: String(port) },
  });
  await terminal.begin(start!);
  await terminal.untilPrinted(`Ready: http://127.0.0.1:${port}\n`);
  const { SUPABASE_URL } = await readEnvironment(state.path);
  assert.equal(SUPABASE_URL, `http://127.0.0.1:${port}`);
  await terminal.interrupt();
  await awaitNothingLeft({ stateDir: state.path, port });
  // The second command runs the suite that this test is part of, so it is only compared.
  assert.match(test!, /^npx -y deno@[\d.]+ task test +#/);
  assert.deepEqual(others, []);
});

Deno.test("README, Hand over a file → builder has what planner put, as the picture shows it", async () => {
  // All tests of a run share the agents planner and builder, so this test only gives them keys.
  await using terminal = await Terminal.open();
  const printed = await terminal.paste(
    transcribed(await documentedBlock("README.md, Hand over a file, 1")),
  );
  assert.match(printed, /^art_[0-9a-f]{32} {2}plan\.txt {2}33 B {2}for builder$/m);
  assert.match(printed, /^received\/planner\/plan\.txt {2}33 B$/m);
  const received = await readFile(join(terminal.home, "received/planner/plan.txt"), "utf8");
  assert.equal(received, "First the cellar, then the roof.\n");

  for (const theme of THEMES) {
    const picture = await readFile(join(PROJECT, pictureFile(theme)), "utf8");
    const [shownId] = picture.match(ARTIFACT_ID)!;
    assert.equal(drawHandOver(printed.replace(ARTIFACT_ID, shownId), theme), picture);
  }
});

Deno.test("README, the loop → a task is done, and its giver gets the reply", async () => {
  const [planner, builder] = [await agentFiles("planner"), await agentFiles("builder")];
  const block = await documentedBlock("README.md, Agent artifacts and agent mesh, 2");
  const source = join(PROJECT, "packages/agent-files/index.ts");
  const program = block.replace('"agent-files"', JSON.stringify(source))
    .replace("https://<ref>.supabase.co", SUPABASE_URL)
    .replace("ak_…", builder.agent.key);
  const { artifact_id } = await planner.files.put("plan.txt", "First the cellar.", {
    to: [builder.agent.id],
  });
  const worker = new Deno.Command(Deno.execPath(), {
    args: ["eval", `--config=${join(PROJECT, "tests/deno.json")}`, "--ext=ts", program],
    stdout: "null",
  }).spawn();
  try {
    const signal = AbortSignal.timeout(120_000);
    for await (const reply of planner.files.inbox({ wait: true, signal })) {
      const [given] = await Array.fromAsync(planner.files.grants({ artifactId: artifact_id }));
      assert.deepEqual([given!.state, reply.reply_to], ["done", given!.grant_id]);
      const { body } = await planner.files.get(reply.artifact_id);
      const text = await new Response(body as ReadableStream).text();
      assert.equal(text, "Built: First the cellar.");
      break;
    }
  } finally {
    worker.kill("SIGTERM");
    await worker.status;
  }
});

Deno.test("README, the picture of the hand-over → by the reader's theme, and with words for readers who cannot see it", async () => {
  const readme = await readPage("README.md");
  const [picture = ""] = readme.match(/^<picture>$.*?^<\/picture>$/ms) ?? [];
  const files = Array.from(picture.matchAll(/src(?:set)?="([^"]+)"/g), ([, file]) => file);
  assert.deepEqual(files, [pictureFile("dark"), pictureFile("light")]);
  assert.match(picture, /<source media="\(prefers-color-scheme: dark\)"/);
  assert.match(picture, / alt="[^"]{20,}"/);
});
