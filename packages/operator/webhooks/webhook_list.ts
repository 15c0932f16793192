import { instantCell } from "../output/cells.ts";
import { LIST_OPTIONS, showList } from "../output/list.ts";
import { defineOperation, type Operation } from "../command.ts";
import type { WebhookRow } from "./webhook.ts";

export const webhookList: Operation = defineOperation({
  summary: "List the webhooks, oldest first, with what waits and what was given up.",
  example: "agentops webhook list",
  options: LIST_OPTIONS,
  async run({ values }, output) {
    await showList<WebhookRow>(output, { functionName: "list_webhooks", values }, {
      heads: ["WEBHOOK", "EVENTS OF", "TYPES", "WAITING", "PARKED", "ENDED", "URL", "LABEL"],
      cells: (webhook) => [
        webhook.webhook_id,
        webhook.agent_id ?? webhook.tag ?? "all",
        webhook.types?.join(" ") ?? "all",
        String(webhook.waiting),
        String(webhook.parked),
        webhook.ended_at === null
          ? ""
          : `${instantCell(webhook.ended_at)} (${webhook.end_reason ?? ""})`,
        webhook.url,
        webhook.label ?? "",
      ],
    });
  },
});
