import { bashCompletion } from "../../command/completion/bash.ts";
import { fishCompletion } from "../../command/completion/fish.ts";
import { completedCommands } from "../../command/completion/words.ts";
import { zshCompletion } from "../../command/completion/zsh.ts";
import type { Described } from "../../command/command.ts";
import { write } from "../../command/terminal/output.ts";
import { UsageError } from "../../command/usage_error.ts";
import { defineOperation, type Operation } from "../command.ts";
import { NAME } from "./help.ts";

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };
const WRONG = "Name one shell: bash, zsh or fish.";

/** Every verb takes this option besides those that it declares. */
const EVERYWHERE = {
  project: { type: "string", help: "a deployment that `agentops login` stored" },
} as const;

/** The verb `completion`, which completes these verbs. */
export function completionOf(
  readVerbs: () => Promise<Readonly<Record<string, Described>>>,
): Operation {
  return defineOperation({
    summary: "Print the script with which a shell completes verbs, options and files.",
    positionals: {
      usage: Object.keys(SHELLS).join("|"),
      least: 1,
      most: 1,
      wrong: WRONG,
      completes: Object.keys(SHELLS),
    },
    example: 'eval "$(agentops completion bash)"        # in ~/.bashrc\n' +
      "source <(agentops completion zsh)          # in ~/.zshrc, after compinit\n" +
      "agentops completion fish > ~/.config/fish/completions/agentops.fish",
    async run({ positionals: [shell] }) {
      if (!Object.hasOwn(SHELLS, shell!)) throw new UsageError(WRONG);
      const script = SHELLS[shell as keyof typeof SHELLS];
      await write(script(NAME, completedCommands(await readVerbs(), EVERYWHERE)));
    },
  });
}
