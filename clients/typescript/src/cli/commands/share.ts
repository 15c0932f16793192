import { type Command, daysOf, defineCommand } from "../command.ts";
import { UsageError } from "../exit_codes.ts";
import { plain } from "../terminal/output.ts";

const DAY_MILLISECONDS = 86_400_000;

export const share: Command = defineCommand({
  summary: "Give agents access to a file.",
  usage: "ARTIFACT|KEY AGENT… [--ttl DAYS] [--show-token]",
  help: {
    ttl: "how many days the access lasts; default: as long as the file",
    "show-token": "show the grant's token too: whoever has it has the access",
  },
  example: "agent share plans/house.txt builder --ttl 2",
  options: { ttl: { type: "string" }, "show-token": { type: "boolean" } },
  async run({ positionals, values }, context) {
    const [target, ...agents] = positionals;
    if (target === undefined || agents.length === 0) {
      throw new UsageError("Name the file, and at least one agent.");
    }
    const expiry = values.ttl === undefined ? {} : {
      expiresAt: new Date(Date.now() + daysOf(values.ttl, "--ttl") * DAY_MILLISECONDS),
    };
    const files = await context.files();
    for (const agent of agents) {
      const { token, ...grant } = await files.share(target, agent, expiry);
      const shown = values["show-token"] ? { ...grant, token } : grant;
      await context.output.value(
        shown,
        ({ grant_id, to_agent }) =>
          `${grant_id}  ${plain(to_agent ?? "")}${values["show-token"] ? `  ${token}` : ""}`,
      );
    }
  },
});
