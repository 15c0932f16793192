import assert from "node:assert/strict";
import { PROJECT } from "../../../packages/local/project.ts";
import { documentedBlock } from "../blocks/documentation.ts";
import { Terminal } from "../blocks/terminal.ts";

Deno.test("CONTRIBUTING, Working on this → the tests of a name run, and a folder does", async () => {
  await using terminal = await Terminal.open({ folder: PROJECT });
  const printed = await terminal.paste(
    await documentedBlock("CONTRIBUTING.md, Working on this, 2"),
  );
  const [folder, test, ...halves] = Array.from(
    printed.matchAll(/^(\d+) passed, (\d+) failed/gm),
    ([, passed, failed]) => ({ passed: Number(passed), failed: Number(failed) }),
  ).reverse();
  assert.ok(folder!.passed > test!.passed, printed);
  assert.ok(test!.passed > 0, printed);
  for (const { failed } of [folder!, test!, ...halves]) assert.equal(failed, 0, printed);
});
