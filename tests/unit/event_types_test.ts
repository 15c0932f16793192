import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { EVENT_TYPES } from "../../packages/operator/reads/event_types.ts";

const SCHEMAS = "supabase/schemas";

Deno.test("EVENT_TYPES → those that the SQL functions write, each once", async () => {
  const files = (await readdir(SCHEMAS, { recursive: true })).filter((name) =>
    name.endsWith(".sql")
  );
  const texts = await Promise.all(files.map((name) => readFile(join(SCHEMAS, name), "utf8")));
  const nouns = new Set(EVENT_TYPES.map((type) => type.split(".")[0]));
  const written = new Set(
    Array.from(texts.join("\n").matchAll(/'([a-z]+)\.[a-z_]+'/g))
      .filter(([, noun]) => nouns.has(noun!))
      .map(([literal]) => literal.slice(1, -1)),
  );
  assert.deepEqual(EVENT_TYPES.toSorted(), Array.from(written).sort());
});
