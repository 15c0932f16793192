import type { Described } from "../../command/command.ts";
import { manPage, type Manual } from "../../command/man_page.ts";
import { write } from "../../command/terminal/output.ts";
import { VERSION } from "../../../supabase/functions/_shared/request/version.ts";
import { defineOperation, type Operation } from "../command.ts";
import { ABOUT } from "./help.ts";

const MANUAL: Manual = {
  source: `agentops ${VERSION}`,
  environment: [
    ["SUPABASE_URL", "the deployment's origin"],
    ["SUPABASE_SECRET_KEY", "the deployment's secret key"],
    ["STATE_DIR", "the local stack's folder, where neither is set; default: .local"],
    ["XDG_CONFIG_HOME", "the folder for settings; default: ~/.config"],
  ],
  files: [["~/.config/agentops/projects.json", "what `agentops login` stores"]],
};

/** The verb `man`, whose page has these verbs. */
export function manOf(readVerbs: () => Promise<Readonly<Record<string, Described>>>): Operation {
  return defineOperation({
    summary: "Print the manual page.",
    example: "agentops man | man -l -\n" +
      "agentops man > /usr/local/share/man/man1/agentops.1",
    async run() {
      await write(manPage(ABOUT, await readVerbs(), MANUAL));
    },
  });
}
