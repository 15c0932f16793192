import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isLeftOutWithout } from "../../../../../tests/left_out.ts";
import { runProgram } from "../../../../local/processes/run_program.ts";
import { runTask } from "../../../../local/tests/stack/stack_process.ts";
import { VERBS } from "../../../agentops/verbs.ts";

// mandoc has no `--version`; it exits with 0 for an empty page.
const ignore = await isLeftOutWithout("mandoc", "The manual page is", { args: ["/dev/null"] });

Deno.test("agentops man → a page without mistakes, of every verb, its parts and exit codes", {
  ignore,
}, async () => {
  const { code, output, errors } = await runTask("agentops", { args: ["man"] });
  assert.deepEqual([code, errors], [0, ""]);
  const folder = await Deno.makeTempDir();
  try {
    const page = join(folder, "agentops.1");
    await writeFile(page, output);
    const lint = await runProgram("mandoc", { args: ["-T", "lint", "-W", "error", page] });
    assert.deepEqual([lint.code, lint.output], [0, ""]);
    const shown = await runProgram("mandoc", { args: ["-T", "ascii", "-O", "width=300", page] });
    // mandoc overstrikes bold and underlined characters with backspaces.
    // deno-lint-ignore no-control-regex
    const text = shown.output.replaceAll(/.\x08/g, "");
    for (const verb of Object.keys(VERBS)) {
      assert.match(text, new RegExp(`^   agentops ${verb}\\b`, "m"));
    }
    assert.match(text, /^ {3}agentops grants revoke .*\[--dry-run\]$/m);
    assert.match(text, /^ +SUPABASE_SECRET_KEY\n? +the deployment's secret key$/m);
    assert.match(text, /^ +2 +wrong usage$/m);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
