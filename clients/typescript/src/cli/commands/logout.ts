import { removeLogin } from "../login_file.ts";
import { defineVerb, type Verb } from "../verb.ts";

export const logout: Verb = defineVerb({
  summary: "Remove the stored agent key from this machine. The agent key itself stays valid.",
  example: "agentfiles logout",
  options: {},
  async run(_parsed, { output }) {
    const removed = await removeLogin();
    await output.value({ removed }, () => removed ? "Logged out." : "You were not logged in.");
  },
});
