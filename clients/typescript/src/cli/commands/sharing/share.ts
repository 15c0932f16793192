import { assertAgents } from "../../../transfer/names.ts";
import { defineVerb, type Verb } from "../../verb.ts";
import { FILE_AND_AGENTS, SHARING_OPTIONS, sharingOf } from "./options.ts";
import { plain } from "../../terminal/output.ts";

export const share: Verb = defineVerb({
  summary: "Give agents access to a file.",
  positionals: FILE_AND_AGENTS,
  example: "agentfiles share plans/house.txt builder --ttl 2",
  options: {
    ...SHARING_OPTIONS,
    "show-token": {
      type: "boolean",
      help: "also show the grant token; anyone who has it can use it",
    },
  },
  async run({ positionals: [target, ...agents], values }, context) {
    const sharing = sharingOf(values);
    assertAgents(agents);
    const files = await context.files();
    for (const agent of agents) {
      const { token, ...grant } = await files.share(target!, agent, sharing);
      const shown = values["show-token"] ? { ...grant, token } : grant;
      await context.output.value(
        shown,
        ({ grant_id, to_agent }) =>
          `${grant_id}  ${plain(to_agent ?? "")}${values["show-token"] ? `  ${token}` : ""}`,
      );
    }
  },
});
