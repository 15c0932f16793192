import { type Command, defineCommand } from "../command.ts";

export const whoami: Command = defineCommand({
  summary: "Show which agent you are.",
  usage: "",
  help: {},
  example: "agent whoami",
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
