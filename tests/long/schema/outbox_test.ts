/** What a million undelivered events cost those who write events, read them, deliver or sweep. */
import assert from "node:assert/strict";
import type postgres from "postgres";
import { HOOK, HOOK_ARRANGED } from "../../bench/fill/cast.ts";
import { fillInChunks } from "../../bench/fill/chunks.ts";
import { urlOf, withProjectDatabase } from "../../database/connection.ts";
import { openExplainer, PLAN_KINDS } from "../../database/plans/explain.ts";
import { call, OPERATOR } from "../../database/plans/planned_call.ts";

/** Enough for one batch. */
const FEW = 20;
const MANY = 1_000_000;
/** A scan of the outbox would read a million rows, and ten thousand pages or more. */
const MORE_ROWS = 20;
/** Each index of the outbox has two levels more, and a delivery is in three or four of them. */
const MORE_PAGES = 200;

const CALLS = [
  call("create_agent_key", { agent_id: "hooked" }, {
    circumstances: "whose event is queued",
    arranged: HOOK_ARRANGED,
  }),
  call("create_agent_key", { agent_id: "hooked" }, { circumstances: "without a webhook" }),
  call("take_deliveries", {
    caller: OPERATOR,
    outcomes: [{ webhook_id: HOOK, event_id: 2, attempt: 10, status: 503, error: null }],
    max_entries: 256,
    max_per_webhook: 8,
    lease_seconds: 60,
  }, { arranged: HOOK_ARRANGED }),
  call("list_events", {
    caller: OPERATOR,
    agent_id: "hooked",
    types: "{key.created}",
    max_entries: 100,
    after: null,
  }),
  call("forget_deliveries", { caller: OPERATOR, max_entries: 1000 }, { arranged: HOOK_ARRANGED }),
];

/** What each call reads. */
async function measure(sql: postgres.Sql) {
  const explainer = await openExplainer(await urlOf(sql));
  try {
    const read = [];
    for (const { functionName, circumstances, ...rest } of CALLS) {
      for (const plans of PLAN_KINDS) {
        const { rows, pages } = await explainer.explain({ functionName, ...rest }, plans);
        read.push({ what: `${functionName} ${circumstances} (${plans})`, rows, pages: pages! });
      }
    }
    return read;
  } finally {
    await explainer.end();
  }
}

/** Events of a webhook whose receiver is down: every second delivery is due, the others later. */
async function fillOutbox(sql: postgres.Sql, count: number): Promise<void> {
  await sql`delete from agents.webhook_deliveries where true`;
  await fillInChunks(sql, count, (transaction, { from, to }) =>
    transaction`
      insert into agents.webhook_deliveries (
        webhook_id, event_id, message_id, next_at, attempts, first_attempt_at, last_status
      )
      select ${HOOK}, -1 - i, 'evt_' || i, now() + (i % 2) * interval '1 hour',
        10, now() - interval '1 hour', 503
      from generate_series(${from}::integer, ${to}::integer - 1) i`);
  await sql`vacuum analyze agents.webhook_deliveries`;
}

Deno.test(`${MANY} undelivered events → an event, a delivery, /events and the sweep read what they read beside ${FEW}`, async () => {
  await withProjectDatabase({}, async (sql) => {
    await fillOutbox(sql, FEW);
    const few = await measure(sql);
    await fillOutbox(sql, MANY);
    const many = await measure(sql);
    for (const [index, { what, rows, pages }] of many.entries()) {
      assert.ok(rows <= few[index]!.rows + MORE_ROWS, `${what} reads ${rows} rows`);
      assert.ok(pages <= few[index]!.pages + MORE_PAGES, `${what} reads ${pages} pages`);
    }
  });
});
