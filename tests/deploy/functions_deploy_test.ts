import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { packFunctions } from "../../dev/deploy/pack.ts";
import { openTemporaryDirectory } from "./temporary_directory.ts";

const PROJECT = fileURLToPath(new URL("../..", import.meta.url));

Deno.test("supabase functions deploy --use-api → both functions live, without a JWT check, with the pins of deno.json and nothing but their own files", async () => {
  await using directory = await openTemporaryDirectory();
  const packed = await packFunctions(directory.path);
  assert.deepEqual(packed.map(({ name }) => name).sort(), ["agent-artifacts", "agent-mesh"]);
  for (const { name, deployment } of packed) {
    assert.deepEqual(deployment.metadata, {
      name,
      entrypoint_path: `supabase/functions/${name}/index.ts`,
      import_map_path: "deno.json",
      static_patterns: [],
      verify_jwt: false,
    });
    const expected = new RegExp(`^(?:deno\\.json|supabase/functions/(?:_shared|${name})/.+\\.ts)$`);
    assert.deepEqual([...deployment.files.keys()].filter((path) => !expected.test(path)), []);
    for (const [path, bytes] of deployment.files) {
      assert.equal(new TextDecoder().decode(bytes), await readFile(join(PROJECT, path), "utf8"));
    }
  }
});
