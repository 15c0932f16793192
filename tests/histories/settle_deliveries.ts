/** The end of a run: what waits for webhooks is sent, and the log says what had to be sent. */
import type { Sender } from "../conformance/client.ts";
import { didHappen } from "./history.ts";
import { queryOnce, type Target } from "./kills.ts";
import { REFUSED_ONE_IN } from "./receiver.ts";
import type { Recorder } from "./recorder.ts";

const PAGE = 1_000;
/** Receivers fail at random. What still waits after so many tries is a finding of the checker. */
const TRIES = 20;

export async function settleDeliveries(
  target: Target,
  { recorder, operator }: { readonly recorder: Recorder; readonly operator: Sender },
): Promise<void> {
  await readLog(recorder, operator);
  for (let tries = 0; tries < TRIES && await endPauses(target) > 0; tries += 1) {
    const operation = "/agent-artifacts/webhooks/deliver";
    await recorder.ask({ operation, agent: "operator", as: operator, request: {} });
  }
}

async function readLog(recorder: Recorder, operator: Sender): Promise<void> {
  const since = recorder.beganAt.toISOString();
  for (let after: string | null = null;;) {
    const request = after === null ? { since } : { since, after };
    const page = await recorder.call("find_events", operator, { ...request, max_entries: PAGE });
    if (!didHappen(page)) throw new Error(`The event log is not there: ${page.status}.`);
    after = page.answer!["next"] as string | null;
    if (after === null) return;
  }
}

/** As if the next attempts were due. Returns how many wait that a receiver may accept. */
async function endPauses(target: Target): Promise<number> {
  return await queryOnce(target, async (sql) => {
    const rows = await sql<{ event_id: string }[]>`
      update agents.webhook_deliveries d
      set next_at = clock_timestamp(), leased_until = null
      from agents.webhooks w
      where d.forget_at is null and w.webhook_id = d.webhook_id and w.ended_at is null
      returning d.event_id`;
    return rows.filter(({ event_id }) => Number(event_id) % REFUSED_ONE_IN > 0).length;
  });
}
