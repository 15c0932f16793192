import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { RENDERING_REVISION } from "../../../supabase/functions/agent-mesh/config_version.ts";

const GOLDEN = new URL("./golden/", import.meta.url);

/** The golden configurations at this revision. */
const RENDERED = {
  revision: 1,
  sha256: "8619dd439c5c1ec4a483afb359eb2d6e11d43b46053469e33a04eac7cee46d6c",
};

Deno.test("the golden configurations → unchanged, or RENDERING_REVISION has been raised", async () => {
  const hash = createHash("sha256");
  for (const name of (await readdir(GOLDEN)).sort()) {
    hash.update(await readFile(new URL(name, GOLDEN)));
  }
  assert.deepEqual({ revision: RENDERING_REVISION, sha256: hash.digest("hex") }, RENDERED);
});
