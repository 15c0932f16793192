import { UsageError } from "../../command/usage_error.ts";
import { note } from "../../command/terminal/output.ts";
import { defineOperation, type Operation } from "../command.ts";
import { callFunctionAsOperator } from "../function_call.ts";
import { EVENT_TYPES } from "../reads/event_types.ts";
import type { WebhookRow } from "./webhook.ts";

/** What /webhooks/put answers. */
export type WebhookWithSecret = Omit<WebhookRow, "waiting" | "parked"> & {
  readonly secret: string;
};

export const webhookCreate: Operation = defineOperation({
  summary: "Send events to a URL, signed as Standard Webhooks say. Prints the secret, once.",
  positionals: { usage: "<url>", least: 1, most: 1, wrong: "Name one URL." },
  example: "agentops webhook create https://hooks.example.com/agents --tag tag:web",
  options: {
    "agent-id": { type: "string", value: "AGENT", help: "only events that concern this agent" },
    tag: { type: "string", value: "TAG", help: "only events that concern an agent with this tag" },
    type: {
      type: "string",
      value: "TYPE",
      multiple: true,
      help: "only events of this type; can be given several times; default: every type",
    },
    label: { type: "string", value: "TEXT", help: "what it is for" },
  },
  async run({ positionals: [url], values }, output) {
    const { "agent-id": agent_id, tag, type: types, label } = values;
    const unknown = types?.find((type) => !EVENT_TYPES.includes(type));
    if (unknown !== undefined) {
      throw new UsageError(`--type takes one of: ${EVENT_TYPES.toSorted().join(", ")}.`);
    }
    const created = await callFunctionAsOperator("/agent-artifacts/webhooks/put", {
      url,
      ...(agent_id !== undefined && { agent_id }),
      ...(tag !== undefined && { tag }),
      ...(types !== undefined && { types }),
      ...(label !== undefined && { label }),
    }) as WebhookWithSecret;
    const { webhook_id, secret } = created;
    await output.value(created, () => secret);
    note(
      `The secret of ${webhook_id} is not shown again. Try it with: agentops webhook test ${webhook_id}`,
    );
  },
});
