import { atLeastOne, type Command, defineCommand } from "../../command.ts";
import { plain } from "../../terminal/output.ts";

export const rm: Command = defineCommand({
  summary: "Delete files, and all access to them.",
  usage: "ARTIFACT|KEY…",
  help: {},
  example: "agent rm plans/house.txt",
  options: {},
  async run({ positionals }, context) {
    const targets = atLeastOne(positionals, "file");
    const files = await context.files();
    for (const target of targets) {
      const deleted = await files.remove(target);
      await context.output.value(
        deleted,
        ({ artifact_id, key }) => `${artifact_id}  ${plain(key)}  deleted`,
      );
    }
  },
});
