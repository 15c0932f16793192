/** docs/policy.md: planning, applying and showing its file gives the output on the page. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { withPolicyRules } from "../conformance/policy/in_force.ts";
import { PROJECT } from "../../packages/local/project.ts";
import { parsePolicy } from "../../packages/operator/policy/policy_file.ts";
import { runTests } from "../../packages/operator/policy/policy_tests.ts";
import { documentedBlock } from "./blocks/documentation.ts";
import { filledIn } from "./blocks/placeholders.ts";
import { Terminal } from "./blocks/terminal.ts";

Deno.test("docs/policy.md → its file passes its tests, is planned, applied, and shown as written", async () => {
  const source = await documentedBlock("docs/policy.md, A policy for the mesh, 1");
  await using terminal = await Terminal.open();
  await writeFile(join(terminal.home, "policy.jsonc"), source);
  const paste = (block: string) => terminal.paste(filledIn(block));
  await withPolicyRules([], async () => {
    const planned = await paste(await documentedBlock("docs/policy.md, A policy for the mesh, 2"));
    assert.match(planned, /^1 rules\. 2 tests passed\.$/m);
    assert.match(planned, /^Fingerprint: [0-9a-f]{64}$/m);
    const applied = await paste(await documentedBlock("docs/policy.md, A policy for the mesh, 3"));
    assert.match(applied, /^The policy is in force: \d+ rules added, 0 removed\.$/m);
    assert.ok(applied.trimEnd().endsWith(source.trimEnd()), applied);
    assert.match(
      await paste(await documentedBlock("docs/policy.md, The file, 1")),
      /^1 rules\. 2 tests passed\.$/m,
    );
  });
});

Deno.test("examples/policy/policy.jsonc → passes its own tests", async () => {
  const name = "examples/policy/policy.jsonc";
  const policy = parsePolicy(await readFile(join(PROJECT, name), "utf8"), name);
  assert.deepEqual(policy.rules.map(({ ports }) => ports), [[443], [9100, 9200, 9201, 9202, 9203]]);
  assert.deepEqual(runTests(policy, {}).map(({ passed }) => passed), [true, true]);
});
