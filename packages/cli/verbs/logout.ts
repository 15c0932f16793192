import { removeLogin } from "../login_file.ts";
import { defineVerb, type Verb } from "../verb.ts";

export const logout: Verb = defineVerb({
  summary: "Remove the stored agent key from this machine. The agent key itself stays valid.",
  example: "agentfiles logout",
  options: {
    leave: {
      type: "boolean",
      help: "first end the agent: its agent keys, its peer and its rules",
    },
  },
  async run({ values }, context) {
    const left = values.leave === true &&
      (await (await context.files()).leave()).left;
    const removed = await removeLogin();
    await context.output.value(
      values.leave ? { removed, left } : { removed },
      () => removed || left ? "Logged out." : "You were not logged in.",
    );
  },
});
