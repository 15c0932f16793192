import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { VERSION } from "../../supabase/functions/_shared/version.ts";

Deno.test("the version that functions tell the operator → the newest of CHANGELOG.md", async () => {
  const changelog = await readFile(new URL("../../CHANGELOG.md", import.meta.url), "utf8");
  const [, newest] = /^## (\S+)/m.exec(changelog)!;
  assert.equal(VERSION, newest!.toLowerCase());
});
