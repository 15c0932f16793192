import { callAsOperator } from "../operator_call.ts";
import { named, nothing, type Replay, replayed, UnusableLine } from "./ending.ts";

/** A receiver that answered 410, too: it does not want to be asked again. */
const endWebhook: Replay = async (event) => {
  const webhook_id = named(event, "webhook_id");
  const { deleted } = await callAsOperator("delete_webhook", { webhook_id }) as {
    readonly deleted: number;
  };
  return deleted > 0
    ? replayed(`ended ${webhook_id}`)
    : nothing(`${webhook_id} does not exist, or has ended`);
};

/** The backup has the secret from before, which somebody else may know. */
const rotateWebhook: Replay = (event) => {
  const webhook_id = named(event, "webhook_id");
  return Promise.reject(
    new UnusableLine(
      `${event.type} does not contain the secret: if ${webhook_id} is still live, run ` +
        `agentops webhook rotate ${webhook_id}`,
    ),
  );
};

/** Endings of webhooks and of their secrets, by the type of the event that records them. */
export const WEBHOOK_ENDINGS: Readonly<Record<string, Replay>> = {
  "webhook.ended": endWebhook,
  "webhook.rotated": rotateWebhook,
};
