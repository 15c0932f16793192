import { type Command, defineCommand, onlyOne } from "../../command.ts";
import { SHARING_HELP, SHARING_OPTIONS, sharingOf } from "./options.ts";

export const link: Command = defineCommand({
  summary:
    "Make a link with which a person can download a file. Anyone who has the link can use it.",
  usage: "ARTIFACT|KEY [--ttl DAYS | --expires TIME] [--max-downloads N]",
  help: SHARING_HELP,
  example: "agent link plans/house.txt --ttl 2 --max-downloads 1",
  options: SHARING_OPTIONS,
  async run({ positionals, values }, context) {
    const target = onlyOne(positionals, "file");
    const sharing = sharingOf(values);
    const files = await context.files();
    await context.output.value(await files.link(target, sharing), ({ url }) => url);
  },
});
