import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { COMMANDS } from "../../verbs.ts";
import { runProgram } from "../../../local/processes/run_program.ts";
import { isLeftOutWithout } from "../../../../tests/left_out.ts";
import { Desk } from "../desk.ts";

// mandoc has no `--version`; it exits with 0 for an empty page.
const ignore = await isLeftOutWithout("mandoc", "The manual page is", { args: ["/dev/null"] });

Deno.test("agentfiles man → a page without mistakes, of every verb, its options and exit codes", {
  ignore,
}, async () => {
  await using planner = await Desk.of("planner");
  const { code, output, errors } = await planner.run(["man"]);
  assert.deepEqual([code, errors], [0, ""]);
  await writeFile(planner.path("agentfiles.1"), output);
  const lint = await runProgram("mandoc", {
    args: ["-T", "lint", "-W", "error", "agentfiles.1"],
    cwd: planner.folder,
  });
  assert.deepEqual([lint.code, lint.output], [0, ""]);

  const shown = await runProgram("mandoc", {
    args: ["-T", "ascii", "-O", "width=300", "agentfiles.1"],
    cwd: planner.folder,
  });
  // mandoc overstrikes bold and underlined characters with backspaces.
  // deno-lint-ignore no-control-regex
  const text = shown.output.replaceAll(/.\x08/g, "");
  for (const verb of Object.keys(COMMANDS)) {
    assert.match(text, new RegExp(`^   agentfiles ${verb}\\b`, "m"));
  }
  assert.match(text, /^ {3}agentfiles put FILE\.\.\. \[--key KEY\] \[--to AGENT\]\.\.\. /m);
  assert.match(text, /^ {3}agentfiles mesh config \[--out FILE\]$/m);
  assert.match(text, /^ +--max-downloads N\n? +how many downloads the link allows/m);
  assert.match(text, /^ +make report \| agentfiles put - --key report\.txt$/m);
  assert.match(text, /^ +3 +agent key missing or refused$/m);
});
