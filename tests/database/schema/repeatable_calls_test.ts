import assert from "node:assert/strict";
import { isRepeatable } from "../../../supabase/functions/_shared/data/fetch.ts";
import { withStackDatabase } from "../connection.ts";

/** Volatile, because each call continues the count of peers. A repeated call does no harm. */
const VOLATILE_AND_REPEATABLE = "read_mesh_metrics";

Deno.test("SQL functions in `public` → repeatable by their names if their volatility says that they change nothing, and no other", async () => {
  const functions = await withStackDatabase((sql) =>
    sql<{ name: string; reads: boolean }[]>`
      select split_part(proname, 'agent_api_', 2) as name, provolatile <> 'v' as reads
      from pg_proc
      where pronamespace = 'public'::regnamespace
        and not exists (select from pg_depend where objid = pg_proc.oid and deptype = 'e')
      order by proname`
  );
  const reading = functions.filter(({ name, reads }) => reads || name === VOLATILE_AND_REPEATABLE);
  assert.ok(reading.length > 30, String(reading.length));
  assert.deepEqual(
    functions.filter(({ name }) => isRepeatable(name)).map(({ name }) => name),
    reading.map(({ name }) => name),
  );
});
