import assert from "node:assert/strict";
import { SUPABASE_URL } from "../../../../tests/conformance/client.ts";
import { withStackDatabase } from "../../../../tests/database/connection.ts";
import { startDashboard } from "../../dashboard/server.ts";

// Names that sort before and after all others.
const QUIET = "00-quiet-";
const BUSY = "zz-busy-of-today";

/** The part "Today" of the page. */
async function readToday(): Promise<string> {
  const dashboard = await startDashboard({ project: SUPABASE_URL, port: 0 });
  try {
    const page = await (await fetch(`${dashboard.url}overview/`)).text();
    return page.slice(page.indexOf('data-fragment="usage"'));
  } finally {
    await dashboard.stop();
  }
}

Deno.test("Today, where the busiest agent and the newest refusal come after hundreds of others → they are shown first", async () => {
  await withStackDatabase(async (sql) => {
    try {
      await sql`
        insert into agents.usage (agent_id, day, requests, refusals, artifacts, bytes, grants)
        select n.agent_id, (now() at time zone 'UTC')::date, n.requests, 0, 0, 0, 0
        from (
          select ${QUIET} || i as agent_id, 1 as requests from generate_series(1, 300) i
          union all select ${BUSY}, 1000000
        ) n`;
      await sql`
        insert into agents.refusals (agent_id, hour, kind, count)
        select ${QUIET} || i, date_trunc('hour', now() - interval '20 hours', 'UTC'), 'forbidden', 1
        from generate_series(1, 300) i
        union all select ${BUSY}, date_trunc('hour', now() + interval '1 hour', 'UTC'), 'rate_limited', 7`;
      // Agents of other tests may be listed in between.
      const [usage, refusals] = (await readToday()).split("Refused in the last day");
      for (const fragment of [usage!, refusals!]) {
        const [first] = fragment.match(/(?:zz-busy-of-today|00-quiet-\d+)(?=<)/) ?? [];
        assert.equal(first, BUSY);
      }
    } finally {
      await sql`delete from agents.usage where agent_id = ${BUSY} or agent_id like ${QUIET + "%"}`;
      await sql`
        delete from agents.refusals where agent_id = ${BUSY} or agent_id like ${QUIET + "%"}`;
    }
  });
});
