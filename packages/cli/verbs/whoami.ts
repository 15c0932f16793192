import { defineVerb, type Verb } from "../verb.ts";

export const whoami: Verb = defineVerb({
  summary: "Show which agent you are.",
  example: "agentfiles whoami",
  options: {},
  async run(_parsed, context) {
    const identity = await (await context.files()).whoami();
    await context.output.value(
      identity,
      ({ kind, agent_id, expires_at }) =>
        `${agent_id ?? kind}${expires_at === null ? "" : ` until ${expires_at}`}`,
    );
  },
});
