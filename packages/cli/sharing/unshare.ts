import { defineVerb, type Verb } from "../verb.ts";
import { FILE_AND_AGENTS, granteesOf, TO_TAG_OPTION } from "./options.ts";
import { plain } from "../../command/terminal/output.ts";

export const unshare: Verb = defineVerb({
  summary: "Take access to a file away from agents.",
  positionals: FILE_AND_AGENTS,
  example: "agentfiles unshare plans/house.txt builder",
  options: {
    "to-tag": {
      ...TO_TAG_OPTION,
      help: "a tag, such as tag:builder, whose agents lose access; can be repeated",
    },
  },
  async run({ positionals: [target, ...agents], values }, context) {
    const grantees = granteesOf(agents, values["to-tag"]);
    const files = await context.files();
    for (const { name, grantee } of grantees) {
      const revoked = await files.unshare(target!, grantee);
      const from = typeof grantee === "string" ? { to_agent: name } : { to_tag: name };
      await context.output.value(
        { ...from, ...revoked },
        (ended) =>
          `${plain(name)}  ${ended.revoked} ${ended.revoked === 1 ? "grant" : "grants"} ended`,
      );
    }
  },
});
