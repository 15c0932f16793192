import { UsageError } from "../../command/usage_error.ts";
import { note } from "../../command/terminal/output.ts";
import { defineOperation, type Operation } from "../command.ts";
import { callFunctionAsOperator } from "../function_call.ts";
import { instantCell } from "../output/cells.ts";
import { ONE_WEBHOOK } from "./webhook.ts";
import type { WebhookWithSecret } from "./webhook_create.ts";

export const webhookRotate: Operation = defineOperation({
  summary: "Give a webhook another secret, and print it, once. For a day, both secrets sign.",
  positionals: ONE_WEBHOOK,
  example: "agentops webhook rotate whk_0123456789abcdef0123456789abcdef --overlap-hours 2",
  options: {
    "overlap-hours": {
      type: "string",
      value: "HOURS",
      help: "how long the secret before also signs, up to 168; 0: no longer; default: 24",
    },
  },
  async run({ positionals: [webhook_id], values }, output) {
    const hours = values["overlap-hours"];
    if (hours !== undefined && !/^[0-9]{1,3}$/.test(hours)) {
      throw new UsageError("--overlap-hours takes a whole number.");
    }
    const rotated = await callFunctionAsOperator("/agent-artifacts/webhooks/put", {
      webhook_id,
      ...(hours !== undefined && { overlap_seconds: Number(hours) * 3600 }),
    }) as WebhookWithSecret;
    await output.value(rotated, () => rotated.secret);
    const until = rotated.previous_secret_until;
    note(
      until === null
        ? "The secret is not shown again. The one before does not sign any more."
        : `The secret is not shown again. The one before also signs until ${instantCell(until)}.`,
    );
  },
});
