import { UsageError } from "../../command/usage_error.ts";
import { instantCell } from "../output/cells.ts";
import { LIST_OPTIONS, showList } from "../output/list.ts";
import { defineOperation, type Operation } from "../command.ts";
import { type DeliveryRow, lastAnswer, ONE_WEBHOOK } from "./webhook.ts";

export const webhookDeliveries: Operation = defineOperation({
  summary:
    "List a webhook's deliveries, the newest event first: which arrived, wait, or are parked.",
  positionals: ONE_WEBHOOK,
  example: "agentops webhook deliveries whk_0123456789abcdef0123456789abcdef",
  options: {
    state: {
      type: "string",
      value: "STATE",
      help: "only those that are `parked`; or `waiting`, the first that is due first",
    },
    ...LIST_OPTIONS,
  },
  async run({ positionals: [webhook_id], values }, output) {
    const { state = "all" } = values;
    if (!["all", "parked", "waiting"].includes(state)) {
      throw new UsageError("--state takes parked or waiting.");
    }
    await showList<DeliveryRow>(output, {
      functionName: "list_deliveries",
      parameters: { webhook_id, state },
      values,
    }, {
      heads: ["EVENT", "TYPE", "STATE", "ATTEMPTS", "LAST ANSWER", "AT"],
      cells: (delivery) => [
        delivery.event_id,
        delivery.type ?? "",
        delivery.state,
        String(delivery.attempts),
        lastAnswer(delivery),
        instantCell(delivery.delivered_at ?? delivery.parked_at ?? delivery.next_at),
      ],
    });
  },
});
