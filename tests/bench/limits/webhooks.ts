/** How soon receivers are told of an event by webhook, one of them never answering in time. */
import { setTimeout as sleep } from "node:timers/promises";
import { startReceiver, withWebhooks } from "../../database/webhooks/receiver.ts";
import { quantile } from "../load/timing.ts";

const RECEIVERS = 100;
const SLOW_MILLISECONDS = 30_000;
/** Random pauses up to this long spread the events over all moments between two kicks. */
const MOST_MILLISECONDS_BETWEEN = 1_000;

/** From the event's commit until its arrival, in milliseconds. */
export interface WebhookTimes {
  readonly what: string;
  readonly told: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Each event goes to RECEIVERS webhooks. Then again, beside one whose receiver is slow. */
export async function measureWebhooks({ events }: { events: number }): Promise<WebhookTimes[]> {
  const arrivals = new Map<string, number[]>();
  const slowOnes: AbortController = new AbortController();
  await using quick = startReceiver(({ headers }) => {
    const id = headers["webhook-id"]!;
    arrivals.set(id, [...arrivals.get(id) ?? [], performance.now()]);
    return new Response(null, { status: 204 });
  });
  await using slow = startReceiver(async () => {
    await sleep(SLOW_MILLISECONDS, null, { signal: slowOnes.signal }).catch(() => {});
    return new Response(null, { status: 204 });
  });
  const times: WebhookTimes[] = [];
  await withWebhooks(async ({ create, record }) => {
    for (let count = 0; count < RECEIVERS; count += 1) {
      await create({ url: quick.url, agent_id: "planner" });
    }
    const measure = async (what: string) => {
      const delays: number[] = [];
      for (let count = 0; count < events; count += 1) {
        const id = await record("planner");
        const committedAt = performance.now();
        while ((arrivals.get(id)?.length ?? 0) < RECEIVERS) await sleep(5);
        delays.push(...arrivals.get(id)!.map((at) => at - committedAt));
        await sleep(Math.random() * MOST_MILLISECONDS_BETWEEN);
      }
      const sorted = delays.toSorted((one, other) => one - other);
      times.push({
        what,
        told: sorted.length,
        max: sorted.at(-1)!,
        p50: quantile(sorted, 0.5),
        p99: quantile(sorted, 0.99),
      });
    };
    await measure(`${RECEIVERS} receivers`);
    await create({ url: slow.url, agent_id: "planner" });
    await measure(`${RECEIVERS} receivers beside one that takes ${SLOW_MILLISECONDS / 1000} s`);
    slowOnes.abort();
  }, { kicks: true });
  return times;
}

export function describeWebhooks({ what, told, p50, p99, max }: WebhookTimes): string {
  const [middle, most, last] = [p50, p99, max].map((time) => `${Math.round(time)} ms`);
  return `webhooks, ${what}: ${told} told, p50 ${middle}, p99 ${most} (goal ≤ 2000 ms), max ${last}`;
}
