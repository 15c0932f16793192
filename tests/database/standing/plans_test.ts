/** What a commit reads of its owner's standing grants, beside as many as an agent can have. */
import assert from "node:assert/strict";
import type postgres from "postgres";
import { urlOf, withProjectDatabase } from "../connection.ts";
import { type ExplainedCall, openExplainer, PLAN_KINDS } from "../plans/explain.ts";
import { verdictOf } from "../versions/committing.ts";
import { OWNER, READER } from "./standing_database.ts";

const KEY = "reports/2026/july.pdf";
/** One for each beginning of the name, the empty one among them. */
const LOOK_UPS = KEY.length + 1;
const MOST = 1_000;

/** Adds standing grants of other names, and ended ones of this name. */
async function addStanding(sql: postgres.Sql, count: number): Promise<void> {
  await sql`
    insert into artifacts.standing_grants (standing_id, from_agent, covered_name, is_prefix, to_agent,
      created_at, expires_at)
    select 'standing_' || md5('live ' || i), ${OWNER}, 'reports/2026/' || i || '/', true, ${READER},
      now() - interval '1 day', now() + interval '1 day'
    from generate_series(1, ${count}::integer) i
    union all
    select 'standing_' || md5('ended ' || i), ${OWNER}, left(${KEY}::text, i % ${LOOK_UPS}::integer), true,
      ${READER}, now() - interval '2 days', now() - interval '1 day'
    from generate_series(1, 10 * ${count}::integer) i`;
  await sql`vacuum analyze artifacts.standing_grants`;
}

/** The rows that a call read in statements about standing grants. */
function rowsOfStanding({ statements }: ExplainedCall): number {
  return statements.filter(({ text }) => text.includes("standing_grants"))
    .reduce((sum, { rows }) => sum + rows, 0);
}

for (const plans of PLAN_KINDS) {
  Deno.test(`/commit beside ${MOST} standing grants of other names and ${10 * MOST} ended ones, with ${plans} → one index lookup for each beginning of the name, and few pages more than without`, async () => {
    await withProjectDatabase({}, async (sql) => {
      const call = {
        functionName: "finish_commit",
        parameters: await verdictOf(sql, { key: KEY }),
      };
      const explainer = await openExplainer(await urlOf(sql));
      try {
        const without = await explainer.explain(call, plans);
        await addStanding(sql, MOST);
        const beside = await explainer.explain(call, plans);
        assert.deepEqual([without.refusal, beside.refusal], [null, null]);
        assert.deepEqual(
          beside.statements.flatMap(({ sequentialScans }) => sequentialScans)
            .filter((table) => table === "artifacts.standing_grants"),
          [],
        );
        const rows = rowsOfStanding(beside);
        // The series itself counts, too.
        assert.ok(rows >= LOOK_UPS && rows <= 2 * LOOK_UPS + 5, `${rows} rows`);
        const pages = beside.pages! - without.pages!;
        assert.ok(pages <= 4 * LOOK_UPS, `${pages} pages more than ${without.pages}`);
      } finally {
        await explainer.end();
      }
    });
  });
}
