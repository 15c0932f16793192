import { type Command, defineCommand } from "../../command.ts";
import { UsageError } from "../../exit_codes.ts";
import { inBytes } from "../../terminal/output.ts";

export const ls: Command = defineCommand({
  summary: "List the agent's files.",
  usage: "[PREFIX]",
  help: {},
  example: "agent ls plans/",
  options: {},
  async run({ positionals }, context) {
    if (positionals.length > 1) throw new UsageError("Give one prefix at most.");
    const files = await context.files();
    await context.output.rows(files.list({ prefix: positionals[0] ?? "" }), {
      heads: ["KEY", "SIZE", "COMMITTED", "EXPIRES", "ARTIFACT"],
      cells: ({ key, size, committed_at, expires_at, artifact_id }) => [
        key,
        inBytes(size),
        committed_at ?? "",
        expires_at ?? "",
        artifact_id,
      ],
    });
  },
});
