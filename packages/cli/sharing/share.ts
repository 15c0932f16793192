import { assertGrantees } from "../../agent-files/transfer/names.ts";
import { defineVerb, type Verb } from "../verb.ts";
import {
  FILE_AND_AGENTS,
  granteesOf,
  SHARING_OPTIONS,
  sharingOf,
  TO_TAG_OPTION,
} from "./options.ts";
import { plain } from "../../command/terminal/output.ts";

export const share: Verb = defineVerb({
  summary: "Give agents access to a file.",
  positionals: FILE_AND_AGENTS,
  example: "agentfiles share plans/house.txt builder --ttl 2\n" +
    "agentfiles share plans/house.txt --to-tag tag:builder",
  options: {
    "to-tag": TO_TAG_OPTION,
    ...SHARING_OPTIONS,
    "show-token": {
      type: "boolean",
      help: "also show the grant token; anyone who has it can use it",
    },
  },
  async run({ positionals: [target, ...agents], values }, context) {
    const sharing = sharingOf(values);
    const grantees = granteesOf(agents, values["to-tag"]);
    assertGrantees({ to: agents, toTags: values["to-tag"] });
    const files = await context.files();
    for (const { name, grantee } of grantees) {
      const { token, ...grant } = await files.share(target!, grantee, sharing);
      const shown = values["show-token"] ? { ...grant, token } : grant;
      await context.output.value(
        shown,
        ({ grant_id }) => `${grant_id}  ${plain(name)}${values["show-token"] ? `  ${token}` : ""}`,
      );
    }
  },
});
