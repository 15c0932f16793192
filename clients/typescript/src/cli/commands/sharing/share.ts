import { type Command, defineCommand } from "../../command.ts";
import { UsageError } from "../../exit_codes.ts";
import { SHARING_HELP, SHARING_OPTIONS, sharingOf } from "./options.ts";
import { plain } from "../../terminal/output.ts";

export const share: Command = defineCommand({
  summary: "Give agents access to a file.",
  usage: "ARTIFACT|KEY AGENT… [--ttl DAYS | --expires TIME] [--max-downloads N] [--show-token]",
  help: {
    ...SHARING_HELP,
    "show-token": "also show the grant token; anyone who has it can use it",
  },
  example: "agent share plans/house.txt builder --ttl 2",
  options: { ...SHARING_OPTIONS, "show-token": { type: "boolean" } },
  async run({ positionals, values }, context) {
    const [target, ...agents] = positionals;
    if (target === undefined || agents.length === 0) {
      throw new UsageError("Name the file and at least one agent.");
    }
    const sharing = sharingOf(values);
    const files = await context.files();
    for (const agent of agents) {
      const { token, ...grant } = await files.share(target, agent, sharing);
      const shown = values["show-token"] ? { ...grant, token } : grant;
      await context.output.value(
        shown,
        ({ grant_id, to_agent }) =>
          `${grant_id}  ${plain(to_agent ?? "")}${values["show-token"] ? `  ${token}` : ""}`,
      );
    }
  },
});
