import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../../local/command/project.ts";
import { REPEATABLE } from "../../../supabase/functions/_shared/upstream/fetch.ts";
import { withStackDatabase } from "../connection.ts";

/** It only takes the count of peers further, which a second call does too. */
const VOLATILE_AND_REPEATABLE = "read_mesh_metrics";

Deno.test("REPEATABLE → every SQL function that the functions call and that changes nothing, by its volatility, and no other", async () => {
  const operations = await withStackDatabase((sql) =>
    sql<{ name: string; reads: boolean }[]>`
      select proname::text as name, provolatile <> 'v' as reads
      from pg_proc
      where pronamespace = 'public'::regnamespace`
  );
  const called = await readQuotedWords(join(PROJECT, "supabase", "functions"));
  const reading = operations.filter(({ name, reads }) => reads && called.has(name));
  const names = new Set(operations.map(({ name }) => name));
  assert.ok(reading.length > 10, String(reading.length));
  assert.deepEqual(
    [...REPEATABLE].filter((call) => names.has(call)).sort(),
    [...reading.map(({ name }) => name), VOLATILE_AND_REPEATABLE].sort(),
  );
});

/** Every word in quotation marks, but for those of REPEATABLE itself. */
async function readQuotedWords(folder: string): Promise<ReadonlySet<string>> {
  const files = (await readdir(folder, { recursive: true }))
    .filter((file) => file.endsWith(".ts") && !file.endsWith("upstream/fetch.ts"));
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")));
  return new Set(
    texts.flatMap((text) => Array.from(text.matchAll(/"(\w+)"/g), ([, word]) => word!)),
  );
}
