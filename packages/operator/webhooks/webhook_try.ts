import { CommandError } from "../../command/command_error.ts";
import { defineOperation, type Operation } from "../command.ts";
import { callFunctionAsOperator } from "../function_call.ts";
import { callAsOperator } from "../operator_call.ts";
import type { Page } from "../pages.ts";
import { type DeliveryRow, lastAnswer, ONE_WEBHOOK, requireLive } from "./webhook.ts";

/** Longer than a receiver may take. */
const PATIENCE_MILLISECONDS = 45_000;
const LOOK_MILLISECONDS = 500;
/** A test is among the newest events. */
const NEWEST = 100;

async function deliveryOf(webhook_id: string, event_id: string): Promise<DeliveryRow | undefined> {
  const { found } = await callAsOperator("list_deliveries", {
    webhook_id,
    max_entries: NEWEST,
  }) as Page<DeliveryRow>;
  return found.find((one) => one.event_id === event_id);
}

/** Waits until the first attempt has ended. */
async function outcomeOf(webhook_id: string, event_id: string): Promise<DeliveryRow | undefined> {
  const deadline = Date.now() + PATIENCE_MILLISECONDS;
  for (;;) {
    const delivery = await deliveryOf(webhook_id, event_id);
    const isTried = delivery !== undefined &&
      (delivery.last_status ?? delivery.last_error) !== null;
    if (isTried || Date.now() > deadline) return delivery;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MILLISECONDS));
  }
}

export const webhookTry: Operation = defineOperation({
  summary: "Send an event of the type webhook.tested to a webhook, and show what it answers.",
  positionals: ONE_WEBHOOK,
  example: "agentops webhook test whk_0123456789abcdef0123456789abcdef",
  async run({ positionals: [wanted] }, output) {
    const { webhook_id } = await requireLive(wanted!);
    const { event_id } = await callAsOperator("test_webhook", { webhook_id }) as {
      readonly event_id: string;
    };
    // Not awaited before the outcome is read: it goes on looking for what is due.
    const delivering = callFunctionAsOperator("/agent-artifacts/webhooks/deliver");
    const [delivery] = await Promise.all([outcomeOf(webhook_id, event_id), delivering]);
    if (delivery?.state !== "delivered") {
      const answer = delivery === undefined ? "" : lastAnswer(delivery);
      throw new CommandError(
        `${event_id} did not arrive: ${answer || "no answer yet"}. It is tried again: ` +
          `agentops webhook deliveries ${webhook_id}`,
      );
    }
    await output.value(delivery, () => `${event_id} arrived: HTTP ${delivery.last_status}.`);
  },
});
