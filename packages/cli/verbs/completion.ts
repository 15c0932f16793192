import { bashCompletion } from "../../command/completion/bash.ts";
import { fishCompletion } from "../../command/completion/fish.ts";
import { completedCommands } from "../../command/completion/words.ts";
import { zshCompletion } from "../../command/completion/zsh.ts";
import { UsageError } from "../../command/usage_error.ts";
import { NAME } from "../help.ts";
import { write } from "../../command/terminal/output.ts";
import { defineVerb, type Verb } from "../verb.ts";

const SHELLS = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};
/** Every verb takes this option besides those that it declares. */
const EVERYWHERE = {
  "retry-seconds": { type: "string", help: "how long temporary errors are retried" },
} as const;
const WRONG = "Name one shell: bash, zsh or fish.";

export const completion: Verb = defineVerb({
  summary: "Print the script with which a shell completes verbs, options and files.",
  positionals: {
    usage: Object.keys(SHELLS).join("|"),
    least: 1,
    most: 1,
    wrong: WRONG,
    completes: Object.keys(SHELLS),
  },
  example: 'eval "$(agentfiles completion bash)"        # in ~/.bashrc\n' +
    "source <(agentfiles completion zsh)          # in ~/.zshrc, after compinit\n" +
    "agentfiles completion fish > ~/.config/fish/completions/agentfiles.fish",
  options: {},
  async run({ positionals: [shell] }, context) {
    if (!Object.hasOwn(SHELLS, shell!)) throw new UsageError(WRONG);
    const script = SHELLS[shell as keyof typeof SHELLS];
    await write(script(NAME, completedCommands(await context.verbs(), EVERYWHERE)));
  },
});
