import assert from "node:assert/strict";
import { readSchemaFiles } from "../../../packages/local/postgres/schema_files.ts";
import { errorEntry, isErrorCode } from "../../../supabase/functions/_shared/request/errors.ts";

/** A refusal, with its HTTP status and its error code. */
const REFUSAL = /sqlstate 'PT(\d{3})' using\s+message = '([^']*)'/g;

/** Not for callers: the function stores the first use of a key, then repeats the call. */
const FOR_FUNCTIONS = "first_use";

Deno.test("every error that an SQL function raises for a caller → a code of the catalogue, with its status", async () => {
  const complaints: string[] = [];
  let found = 0;
  for (const { path, text } of await readSchemaFiles()) {
    for (const [, status, code] of text.matchAll(REFUSAL)) {
      found += 1;
      if (code === FOR_FUNCTIONS) continue;
      if (!isErrorCode(code!)) {
        complaints.push(`${path}: ${code} is not in the catalogue of _shared/request/errors.ts`);
      } else if (errorEntry(code).status !== Number(status)) {
        complaints.push(`${path}: ${code} has another status than ${status}`);
      }
    }
  }
  assert.ok(found > 40, String(found));
  assert.deepEqual(complaints, []);
});
