import { defineOperation, type Operation } from "../command.ts";
import { confirm, DELETION_OPTIONS, inCounts } from "../endings/confirmation.ts";
import { callAsOperator } from "../operator_call.ts";
import { ONE_WEBHOOK, requireLive } from "./webhook.ts";

export const webhookDelete: Operation = defineOperation({
  summary: "End a webhook: nothing more is sent to it, and what waits for it is deleted.",
  positionals: ONE_WEBHOOK,
  example: "agentops webhook delete whk_0123456789abcdef0123456789abcdef",
  options: DELETION_OPTIONS,
  async run({ positionals: [wanted], values }, output) {
    const { webhook_id, label, waiting, parked } = await requireLive(wanted!);
    const counts = { waiting_deliveries: waiting, parked_deliveries: parked };
    const named = label === null ? webhook_id : `${webhook_id} (${label})`;
    const what = `${named}, with ${inCounts(counts)}`;
    if (values["dry-run"]) {
      return await output.value(
        { webhook_id, would_end: counts },
        () => `Would end: ${what}. Nothing was changed.`,
      );
    }
    await confirm(`This ends ${what}.`, values);
    const { deleted } = await callAsOperator("delete_webhook", { webhook_id }) as {
      readonly deleted: number;
    };
    await output.value(
      { webhook_id, deleted },
      () => deleted > 0 ? `Ended ${webhook_id}.` : `${webhook_id} had ended before.`,
    );
  },
});
