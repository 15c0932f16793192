import { defineVerb, type Verb } from "../verb.ts";
import { note } from "../../command/terminal/output.ts";
import { SHARING_OPTIONS, sharingOf } from "./options.ts";

export const link: Verb = defineVerb({
  summary:
    "Make a link with which a person can download a file. Anyone who has the link can use it.",
  positionals: {
    usage: "ARTIFACT|KEY",
    least: 1,
    most: 1,
    wrong: "Name one file.",
  },
  example: "agentfiles link plans/house.txt --ttl 2 --max-downloads 1",
  options: SHARING_OPTIONS,
  async run({ positionals: [target], values }, context) {
    const sharing = sharingOf(values);
    const files = await context.files();
    const made = await files.link(target!, sharing);
    await context.output.value(made, ({ url }) => url);
    if (!context.output.json) {
      note(`To end it: agentfiles unlink ${made.grant_id}`);
    }
  },
});
