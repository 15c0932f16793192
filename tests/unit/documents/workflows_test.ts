/** The files that the workflows of `.github/` name. */
import assert from "node:assert/strict";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../../packages/local/project.ts";

const WORKFLOWS = ".github/workflows";

/** Paths that a job creates; they are not in the repository. */
const MADE = ["dist/", "packages/agent-peer/ip/built"];

/** A path of at least two parts that is not part of a URL or of an action's name. */
const PATH = /(?<![\w./:@$*-])\.?[a-z_]+(?:\/[\w.-]*\w)+(?![\w/@*-])/g;

for (const file of await readdir(join(PROJECT, WORKFLOWS))) {
  Deno.test(`every file that ${WORKFLOWS}/${file} names → is there`, async () => {
    const workflow = await readFile(join(PROJECT, WORKFLOWS, file), "utf8");
    const named = pathsIn(workflow).filter((path) => !MADE.some((made) => path.startsWith(made)));
    assert.ok(named.includes(".ci/run"), named.join(" "));
    const missing: string[] = [];
    for (const path of named) {
      await stat(join(PROJECT, path)).catch(() => missing.push(path));
    }
    assert.deepEqual(missing, []);
  });
}

for (const file of await readdir(join(PROJECT, WORKFLOWS))) {
  Deno.test(`${WORKFLOWS}/${file} → every action by the digest of a commit, with its release; whole runs have 90 minutes`, async () => {
    const workflow = await readFile(join(PROJECT, WORKFLOWS, file), "utf8");
    const uses = workflow.match(/uses: .*/g) ?? [];
    assert.ok(uses.length > 0, "no action was found");
    for (const line of uses) assert.match(line, /^uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    for (
      const job of workflow.split(/^ {2}(?=\w+:$)/m).filter((job) => job.includes("run: .ci/run"))
    ) {
      assert.match(job, /^ +timeout-minutes: 90$/m);
    }
  });
}

Deno.test("pathsIn() → paths of the tree in commands and comments, neither actions nor addresses", () => {
  assert.deepEqual(
    pathsIn(
      "- uses: actions/checkout@v4\n- run: .ci/run # tests/a_test.ts.\n https://a.example/b/c",
    ),
    [".ci/run", "tests/a_test.ts"],
  );
});

function pathsIn(workflow: string): string[] {
  return workflow.match(PATH) ?? [];
}
