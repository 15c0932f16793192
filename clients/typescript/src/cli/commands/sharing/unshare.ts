import { defineVerb, type Verb } from "../../verb.ts";
import { FILE_AND_AGENTS } from "./options.ts";
import { plain } from "../../terminal/output.ts";

export const unshare: Verb = defineVerb({
  summary: "Take access to a file away from agents.",
  positionals: FILE_AND_AGENTS,
  example: "agentfiles unshare plans/house.txt builder",
  options: {},
  async run({ positionals: [target, ...agents] }, context) {
    const files = await context.files();
    for (const agent of agents) {
      const revoked = await files.unshare(target!, agent);
      await context.output.value(
        { to_agent: agent, ...revoked },
        (ended) =>
          `${plain(agent)}  ${ended.revoked} ${ended.revoked === 1 ? "grant" : "grants"} ended`,
      );
    }
  },
});
