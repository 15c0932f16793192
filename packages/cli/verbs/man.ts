import { manPage, type Manual } from "../../command/man_page.ts";
import { write } from "../../command/terminal/output.ts";
import { ABOUT } from "../help.ts";
import { VERSION } from "../version.ts";
import { defineVerb, type Verb } from "../verb.ts";

const MANUAL: Manual = {
  source: `agent-files ${VERSION}`,
  environment: [
    ["AGENT_URL", "the project's origin, instead of the stored one"],
    ["AGENT_KEY", "the agent key, instead of the stored one"],
    ["AGENT_ID", "the agent's identifier, if the credential does not tell it"],
    ["XDG_CONFIG_HOME", "the folder for settings; default: ~/.config"],
  ],
  files: [["~/.config/agentfiles/login.json", "what `agentfiles login` stores"]],
};

export const man: Verb = defineVerb({
  summary: "Print the manual page.",
  example: "agentfiles man | man -l -\n" +
    "agentfiles man > /usr/local/share/man/man1/agentfiles.1",
  options: {},
  async run(_parsed, context) {
    await write(manPage(ABOUT, await context.verbs(), MANUAL));
  },
});
