import { CommandError } from "../../command/command_error.ts";
import { rowsOf } from "../pages.ts";

/** What list_webhooks returns of a webhook. The counts stop at 1000. */
export interface WebhookRow {
  readonly webhook_id: string;
  readonly url: string;
  readonly label: string | null;
  readonly agent_id: string | null;
  readonly tag: string | null;
  readonly types: readonly string[] | null;
  readonly created_at: string;
  readonly previous_secret_until: string | null;
  readonly ended_at: string | null;
  readonly end_reason: "deleted" | "gone" | "erased" | null;
  readonly waiting: number;
  readonly parked: number;
}

/** What list_deliveries returns of a delivery. */
export interface DeliveryRow {
  readonly event_id: string;
  /** Null: the log has forgotten the event. */
  readonly type: string | null;
  readonly state: "waiting" | "sending" | "delivered" | "parked";
  readonly attempts: number;
  readonly last_status: number | null;
  readonly last_error: string | null;
  readonly next_at: string | null;
  readonly delivered_at: string | null;
  readonly parked_at: string | null;
}

/** The positional of a command about one webhook. */
export const ONE_WEBHOOK = {
  usage: "<webhook_id>",
  least: 1,
  most: 1,
  wrong: "Name one webhook.",
} as const;

/** Throws CommandError if no webhook, or only an ended one, has this id. */
export async function requireLive(webhookId: string): Promise<WebhookRow> {
  for await (const webhook of rowsOf<WebhookRow>("list_webhooks")) {
    if (webhook.webhook_id === webhookId && webhook.ended_at === null) return webhook;
  }
  throw new CommandError(
    "Nothing was changed: there is no live webhook of this webhook_id. " +
      "agentops webhook list shows those that are there.",
  );
}

/** How the last attempt ended: `503`, or a word such as `timeout`. */
export function lastAnswer({ last_status, last_error }: DeliveryRow): string {
  return last_error?.replaceAll("_", " ") ?? (last_status === null ? "" : String(last_status));
}
