import { firstOf, rowsOf } from "../../pages.ts";
import { collect } from "../../reads/collections.ts";
import type { DeliveryRow, WebhookRow } from "../../webhooks/webhook.ts";

/** How many webhooks the panel shows. */
const MOST_WEBHOOKS = 100;
/** How many deliveries of a webhook are read. */
export const NEWEST_DELIVERIES = 50;
/** How many webhooks are asked about at a time. */
const AT_ONCE = 10;

export interface ShownWebhook extends WebhookRow {
  /** Of the newest events; null: none of them arrived, or failed. */
  readonly success: DeliveryRow | null;
  readonly failure: DeliveryRow | null;
}

/** The webhooks, oldest first, and whether there are more. */
export interface ShownWebhooks {
  readonly shown: readonly ShownWebhook[];
  readonly isCut: boolean;
}

/** Throws CommandError. */
export async function readWebhooks(): Promise<ShownWebhooks> {
  const rows = await collect(rowsOf<WebhookRow>("list_webhooks", { limit: MOST_WEBHOOKS + 1 }));
  const shown: ShownWebhook[] = [];
  for (let from = 0; from < Math.min(rows.length, MOST_WEBHOOKS); from += AT_ONCE) {
    const some = rows.slice(from, Math.min(from + AT_ONCE, MOST_WEBHOOKS));
    shown.push(...await Promise.all(some.map(withDeliveries)));
  }
  return { shown, isCut: rows.length > MOST_WEBHOOKS };
}

async function withDeliveries(webhook: WebhookRow): Promise<ShownWebhook> {
  const newest = await firstOf<DeliveryRow>("list_deliveries", {
    webhook_id: webhook.webhook_id,
    max_entries: NEWEST_DELIVERIES,
  });
  const hasFailed = ({ state, last_status, last_error }: DeliveryRow) =>
    state !== "delivered" && (last_status !== null || last_error !== null);
  return {
    ...webhook,
    success: newest.find(({ state }) => state === "delivered") ?? null,
    failure: newest.find(hasFailed) ?? null,
  };
}
