import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../../packages/local/project.ts";

/** What `task client:build` makes, which is not in the repository. */
const BUILT = "dist";

/** "The map" in docs/architecture.md lists every folder below these. */
const MAPPED = [
  "supabase/schemas",
  "supabase/functions/_shared",
  "supabase/functions/agent-artifacts",
  "supabase/functions/agent-mesh",
  "packages",
  "packages/agent-files",
  "packages/agent-peer",
  "packages/agent-peer/mesh",
  "packages/cli",
  "packages/command",
  "packages/local",
  "packages/operator",
  "dev",
];

Deno.test("the map of docs/architecture.md → names every folder below those that it lists", async () => {
  const page = await readFile(join(PROJECT, "docs/architecture.md"), "utf8");
  const map = page.split("\n## The map\n")[1]!.split("\n## ")[0]!;
  for (const folder of MAPPED) {
    const entries = await readdir(join(PROJECT, folder), { withFileTypes: true });
    const folders = entries.filter((entry) => entry.isDirectory() && entry.name !== BUILT)
      .map(({ name }) => name);
    assert.ok(folders.length > 2, folder);
    const missing = folders.filter((name) => !new RegExp(`[\`/]${name}/\``).test(map));
    assert.deepEqual(missing, [], folder);
  }
});
