import { defineVerb, type Verb } from "../verb.ts";
import { liveLinks, usesOf } from "./live_links.ts";

export const links: Verb = defineVerb({
  summary: "List the links that work now, the first to expire first. Their URLs are not shown: " +
    "the service does not keep them.",
  positionals: {
    usage: "[ARTIFACT|KEY]",
    least: 0,
    most: 1,
    wrong: "Name one file at most.",
  },
  example: "agentfiles links plans/house.txt",
  options: {},
  async run({ positionals: [named] }, context) {
    const files = await context.files();
    await context.output.rows(liveLinks(files, named), {
      heads: ["LINK", "KEY", "MADE", "EXPIRES", "DOWNLOADS"],
      cells: (link) => [
        link.grant_id,
        link.key,
        link.granted_at,
        link.expires_at,
        usesOf(link),
      ],
    });
  },
});
