import assert from "node:assert/strict";
import { awaitNothingLeft, openStateDirectory, readEnvironment } from "../stack/stack_process.ts";
import { freePort } from "../../dev/processes/free_port.ts";
import { documentedBlock } from "./documentation.ts";
import { Terminal } from "./terminal.ts";

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

Deno.test("README, Hand over a file → ends with the same bytes, and with a refusal", async () => {
  // Agents are shared by all tests of a run, so planner and builder get keys here and nothing else.
  await using terminal = await Terminal.open();
  const printed = await terminal.paste(
    await documentedBlock("README.md, Hand over a file, 1"),
  );
  assert.ok(printed.includes("received what was sent"), printed);
  const fetched = printed.match(/First the cellar, then the roof\./g);
  assert.equal(fetched?.length, 1, "what /fetch led to");
  assert.match(printed, /"revoked" ?: ?1\b/);
  assert.ok(printed.trimEnd().includes('"code":"artifact_not_found"'), printed);
});
