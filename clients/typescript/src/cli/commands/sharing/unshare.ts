import { type Command, defineCommand } from "../../command.ts";
import { UsageError } from "../../exit_codes.ts";
import { plain } from "../../terminal/output.ts";

export const unshare: Command = defineCommand({
  summary: "Take access to a file away from agents.",
  usage: "ARTIFACT|KEY AGENT…",
  help: {},
  example: "agent unshare plans/house.txt builder",
  options: {},
  async run({ positionals }, context) {
    const [target, ...agents] = positionals;
    if (target === undefined || agents.length === 0) {
      throw new UsageError("Name the file and at least one agent.");
    }
    const files = await context.files();
    for (const agent of agents) {
      const revoked = await files.unshare(target, agent);
      await context.output.value(
        { to_agent: agent, ...revoked },
        (ended) =>
          `${plain(agent)}  ${ended.revoked} ${ended.revoked === 1 ? "grant" : "grants"} ended`,
      );
    }
  },
});
