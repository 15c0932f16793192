import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { awaitNothingLeft, openStateDirectory, readEnvironment } from "../stack/stack_process.ts";
import { freePort } from "../../dev/processes/free_port.ts";
import { documentedBlock } from "./blocks/documentation.ts";
import { Terminal } from "./blocks/terminal.ts";

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
  // The second one runs what this is a part of.
  assert.match(test!, /^npx -y deno@[\d.]+ task test +#/);
  assert.deepEqual(others, []);
});

Deno.test("README, Hand over a file → builder has what planner put", async () => {
  // Agents are shared by all tests of a run, so planner and builder get keys here and nothing else.
  await using terminal = await Terminal.open();
  const printed = await terminal.paste(
    await documentedBlock("README.md, Hand over a file, 1"),
  );
  assert.match(printed, /^art_[0-9a-f]{32} {2}plan\.txt {2}33 B {2}for builder$/m);
  assert.match(printed, /^received\/planner\/plan\.txt {2}33 B$/m);
  const received = await readFile(join(terminal.home, "received/planner/plan.txt"), "utf8");
  assert.equal(received, "First the cellar, then the roof.\n");
});
