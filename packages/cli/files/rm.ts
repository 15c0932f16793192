import { defineVerb, type Verb } from "../verb.ts";
import { plain } from "../../command/terminal/output.ts";

export const rm: Verb = defineVerb({
  summary: "Delete files, and all access to them.",
  positionals: {
    usage: "ARTIFACT|KEY…",
    least: 1,
    wrong: "Name at least one file.",
  },
  example: "agentfiles rm plans/house.txt",
  options: {},
  async run({ positionals: targets }, context) {
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
