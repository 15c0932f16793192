/** `deno task test`, typed in the folder of each package, runs the tests of that package. */
import assert from "node:assert/strict";
import { cp, readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { PROJECT } from "../../packages/local/project.ts";

/** The name of a test of each package. It is the only one that is run here. */
const ONE_TEST: Readonly<Record<string, string>> = {
  "packages/agent-files": "each operation of agent-mesh → a method of AgentMesh",
  "packages/agent-peer": "WireGuard's messages → their types and indices",
  "packages/cli": "a file from a Mac, got by its typed name",
  "packages/command": "helpOf() a command → its summary",
  "packages/local": "uploadToSignedUrl(Blob) → its bytes",
  "packages/operator": "eventCells() of a download by a token",
};

/** Runs one test of a package by its task, without the variables of this run's stack. */
async function runOne(project: string, folder: string): Promise<void> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["task", "test", `--filter=${ONE_TEST[folder]}`],
    cwd: join(project, folder),
    clearEnv: true,
    env: Object.fromEntries(
      Object.entries(Deno.env.toObject()).filter(([name]) =>
        !/^(?:SUPABASE_|TEST_POSTGRES$|SHARED_BUILDS$)/.test(name)
      ),
    ),
  }).output();
  const text = stripVTControlCharacters(
    new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr),
  );
  assert.equal(code, 0, text);
  assert.match(text, /\b1 passed\b/, text);
}

Deno.test("the packages → one test of each is known here", async () => {
  const folders = (await readdir(join(PROJECT, "packages"))).map((name) => `packages/${name}`);
  assert.deepEqual(Object.keys(ONE_TEST).sort(), folders.sort());
});

for (const folder of Object.keys(ONE_TEST)) {
  Deno.test(`\`deno task test\` in ${folder} → runs the tests of that package`, async () => {
    await runOne(PROJECT, folder);
  });
}

Deno.test("packages/agent-peer in a tree without supabase/ → type checks, and its tests run", async () => {
  const tree = await Deno.makeTempDir();
  try {
    const left = ["supabase", ".git", ".local", "dist", "node_modules"];
    await cp(PROJECT, tree, {
      recursive: true,
      filter: (path) => !left.includes(relative(PROJECT, path).split("/").at(-1)!),
    });
    // `deno test` type checks each file before it runs the one test.
    await runOne(tree, "packages/agent-peer");
  } finally {
    await Deno.remove(tree, { recursive: true });
  }
});
