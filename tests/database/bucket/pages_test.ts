/** What one page of a large bucket reads, whatever Storage's release and the statistics. */
import assert from "node:assert/strict";
import type postgres from "postgres";
import { urlOf, withProjectDatabase } from "../connection.ts";
import { openExplainer, PLAN_KINDS } from "../plans/explain.ts";
import { addVersionColumns, removeVersionColumns } from "./versions.ts";

const OBJECTS = 20_000;
const PAGE = 200;
const CALLS = [
  {
    functionName: "list_objects_without_artifact",
    parameters: { max_entries: PAGE, after: "incoming/~" },
  },
  { functionName: "count_archived_versions", parameters: { max_entries: PAGE } },
  {
    functionName: "collect_dead_objects",
    parameters: {
      caller: { kind: "operator" },
      max_entries: PAGE,
      remove_many_orphans: false,
    },
  },
  { functionName: "find_restore_signs", parameters: { rendering_revision: 0, max_entries: 1 } },
];
/** Per object that a call looks at: the object, its artifact, and some around it. */
const ROWS_PER_OBJECT = 6;
/** find_restore_signs looks at 2,000 objects. */
const OBJECTS_LOOKED_AT = 2_000;

const STATES: Readonly<Record<string, (sql: postgres.Sql) => Promise<unknown>>> = {
  "Storage has the columns for versions": (sql) => sql`analyze storage.objects`,
  "Storage lacks them": async (sql) => {
    await removeVersionColumns(sql);
    await sql`analyze storage.objects`;
  },
  // A project in which little happens is not analyzed for weeks.
  "Storage has just added them, and nothing has analyzed the table since": async (sql) => {
    await removeVersionColumns(sql);
    await sql`analyze storage.objects`;
    await addVersionColumns(sql);
  },
};

for (const [state, prepare] of Object.entries(STATES)) {
  Deno.test(`${state} → a page of ${PAGE} among ${OBJECTS} objects reads a range of an index`, async () => {
    await withProjectDatabase({}, async (sql) => {
      // Autovacuum would make statistics at a moment of its own.
      await sql`alter table storage.objects set (autovacuum_enabled = false)`;
      await sql`
        insert into storage.objects (bucket_id, name, version, created_at, metadata)
        select 'agent-artifacts', 'sealed/art_' || md5(i::text) || '/1', gen_random_uuid()::text,
          now() - interval '10 days', '{"size": 100}'
        from generate_series(1, ${OBJECTS}::integer) i`;
      await prepare(sql);
      const explainer = await openExplainer(await urlOf(sql));
      try {
        for (const call of CALLS) {
          for (const plans of PLAN_KINDS) {
            const { statements, rows, refusal } = await explainer.explain(call, plans);
            const what = `${call.functionName} (${plans})`;
            assert.equal(refusal, null, what);
            const wholes = statements.flatMap(({ sequentialScans }) => sequentialScans);
            assert.ok(!wholes.includes("storage.objects"), `${what} reads the whole bucket`);
            assert.ok(rows < OBJECTS_LOOKED_AT * ROWS_PER_OBJECT, `${what} reads ${rows} rows`);
          }
        }
      } finally {
        await explainer.end();
      }
    });
  });
}
