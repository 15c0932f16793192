import { UsageError } from "../../command/usage_error.ts";
import { note } from "../../command/terminal/output.ts";
import { defineOperation, type Operation } from "../command.ts";
import { callAsOperator } from "../operator_call.ts";
import { requireLive } from "./webhook.ts";

interface Requeued {
  readonly requeued: number;
  readonly remaining: number;
}

export const webhookRequeue: Operation = defineOperation({
  summary: "Send a webhook's parked deliveries again, or the one of an event.",
  positionals: {
    usage: "<webhook_id> [event_id]",
    least: 1,
    most: 2,
    wrong: "Name one webhook, and at most one event.",
  },
  example: "agentops webhook requeue whk_0123456789abcdef0123456789abcdef",
  async run({ positionals: [wanted, event] }, output) {
    if (event !== undefined && !/^evt_[1-9][0-9]{0,17}$/.test(event)) {
      throw new UsageError("An event_id is evt_ and a number.");
    }
    const { webhook_id } = await requireLive(wanted!);
    const event_id = event === undefined ? null : event.slice("evt_".length);
    let requeued = 0;
    let step: Requeued;
    do {
      step = await callAsOperator("requeue_deliveries", { webhook_id, event_id }) as Requeued;
      requeued += step.requeued;
      if (step.remaining > 0) note(`${requeued} are requeued, more are left.`);
    } while (step.requeued > 0 && step.remaining > 0);
    await output.value(
      { webhook_id, requeued },
      () => `Requeued ${requeued}. They are sent with the next call of /webhooks/deliver.`,
    );
  },
});
