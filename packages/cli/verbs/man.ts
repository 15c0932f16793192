import { manPage } from "../man_page.ts";
import { write } from "../../command/terminal/output.ts";
import { VERSION } from "../version.ts";
import { defineVerb, type Verb } from "../verb.ts";

export const man: Verb = defineVerb({
  summary: "Print the manual page.",
  example: "agentfiles man | man -l -\n" +
    "agentfiles man > /usr/local/share/man/man1/agentfiles.1",
  options: {},
  async run(_parsed, context) {
    await write(manPage(await context.verbs(), VERSION));
  },
});
