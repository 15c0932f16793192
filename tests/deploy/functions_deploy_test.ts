import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../packages/local/project.ts";
import { packFunctions } from "../../dev/deploy/pack.ts";
import { FUNCTION_NAMES, readModules } from "./module_graph.ts";
import { openTemporaryDirectory } from "./temporary_directory.ts";

Deno.test("supabase functions deploy --use-api → both functions live, without a JWT check, each with its own deno.json and the files that it runs, and nothing else", async () => {
  await using directory = await openTemporaryDirectory();
  const packed = await packFunctions(directory.path);
  assert.deepEqual(packed.map(({ name }) => name).sort(), FUNCTION_NAMES);
  for (const { name, deployment } of packed) {
    const configuration = `supabase/functions/${name}/deno.json`;
    assert.deepEqual(deployment.metadata, {
      name,
      entrypoint_path: `supabase/functions/${name}/index.ts`,
      import_map_path: configuration,
      static_patterns: [],
      verify_jwt: false,
    });
    const { files } = await readModules(name);
    assert.deepEqual([...deployment.files.keys()].sort(), [configuration, ...files].sort());
    for (const [path, bytes] of deployment.files) {
      assert.equal(new TextDecoder().decode(bytes), await readFile(join(PROJECT, path), "utf8"));
    }
  }
});
