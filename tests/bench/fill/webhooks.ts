/** Fills the outbox of one webhook, whose receiver has been down for long. */
import type postgres from "postgres";
import { HOOK, type Size } from "./cast.ts";
import { fillInChunks } from "./chunks.ts";

/**
 * Half of its deliveries were given up, nearly all others wait for their next attempt. The webhook
 * itself is not there: HOOK_ARRANGED makes it for the calls that need it, so that the other calls
 * are measured without one.
 */
export async function fillWebhooks(sql: postgres.Sql, { artifacts }: Size): Promise<void> {
  await fillInChunks(sql, artifacts, (transaction, { from, to }) =>
    transaction`
      insert into agents.webhook_deliveries (
        webhook_id, event_id, message_id, next_at, attempts, first_attempt_at, last_status,
        parked_at, forget_at
      )
      select
        ${HOOK}, i + 1, 'evt_' || i + 1,
        now() + case when i % 1000 = 1 then interval '0' else interval '1 hour' end,
        10, now() - interval '1 hour', 503,
        case when i % 2 = 0 then now() end,
        case when i % 2 = 0 then now() + interval '30 days' end
      from generate_series(${from}::integer, ${to}::integer - 1) i`);
}
