/** A webhook of a test, with one delivery of each kind. Nothing is sent to it. */
import { deleteWebhook, putWebhook } from "../../../../tests/conformance/webhooks/webhooks.ts";
import { withStackDatabase } from "../../../../tests/database/connection.ts";

export const HOST = `${"very-long-name.".repeat(12)}hooks.example.com`;

/** As long as a label can be, and not markup. */
export const LABEL = `<b>${"W".repeat(193)}</b>`.slice(0, 200);

/** Runs `run` while the webhook has a delivery that arrived, one that failed and one parked. */
export async function withShownWebhook(run: (webhookId: string) => Promise<void>): Promise<void> {
  const { webhook_id } = await putWebhook({ url: `https://${HOST}/secret-path`, label: LABEL });
  await withStackDatabase(async (sql) => {
    try {
      await sql`
        insert into agents.webhook_deliveries (
          webhook_id, event_id, message_id, next_at, attempts, first_attempt_at, last_status,
          last_error, delivered_at, parked_at, forget_at
        )
        values
          (${webhook_id}, 9000001, 'evt_9000001', now(), 1, now(), 204, null,
            now() - interval '3 hours', null, now() + interval '1 day'),
          (${webhook_id}, 9000002, 'evt_9000002', now(), 30, now() - interval '26 hours', null,
            'timeout', null, now() - interval '2 hours', now() + interval '30 days'),
          (${webhook_id}, 9000003, 'evt_9000003', now() + interval '50 minutes', 7, now(), 503, null,
            null, null, null)`;
      await run(webhook_id);
    } finally {
      await sql`delete from agents.webhook_deliveries where webhook_id = ${webhook_id}`;
    }
  });
  await deleteWebhook(webhook_id);
}
