import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { RENDERING_REVISION } from "../../../supabase/functions/_shared/operations/waiting/config_version.ts";

const GOLDEN = new URL("./golden/", import.meta.url);

/** The digest of the golden configurations at this revision. */
const RENDERED = {
  revision: 2,
  sha256: "a4f97e60b8db6589779edff0bffd45b9c4efa31f559cbe6d360e65959ad05478",
};

Deno.test("the golden configurations → unchanged, or RENDERING_REVISION has been raised", async () => {
  const hash = createHash("sha256");
  for (const name of (await readdir(GOLDEN)).sort()) {
    hash.update(await readFile(new URL(name, GOLDEN)));
  }
  assert.deepEqual({ revision: RENDERING_REVISION, sha256: hash.digest("hex") }, RENDERED);
});
