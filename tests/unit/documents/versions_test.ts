import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../../packages/local/project.ts";
import { SUPABASE_CLI_VERSION } from "../../../packages/operator/doctor/findings/remedies.ts";
import { VERSION } from "../../../supabase/functions/_shared/request/version.ts";
import { readPages } from "./pages.ts";

Deno.test("the Supabase CLI in README and docs → always with a version, the one that the tests run", async () => {
  const others: string[] = [];
  let named = 0;
  for (const { file, text } of await readPages()) {
    for (const [, version] of text.matchAll(/\bsupabase@([^\s`]+)/g)) {
      named++;
      if (version !== SUPABASE_CLI_VERSION) others.push(`${file}: supabase@${version}`);
    }
    for (const [command] of text.matchAll(/\bnpx (?:-\S+ )*supabase(?!@).*/g)) {
      others.push(`${file}: ${command}`);
    }
  }
  assert.deepEqual(others, []);
  assert.ok(named > 0);
});

Deno.test("the version that functions tell the operator → the newest of CHANGELOG.md", async () => {
  const changelog = await readFile(join(PROJECT, "CHANGELOG.md"), "utf8");
  const [, newest] = /^## (\S+)/m.exec(changelog)!;
  assert.equal(VERSION, newest!.toLowerCase());
});
