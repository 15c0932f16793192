import type { Completes } from "../command.ts";
import type { CompletedCommand, CompletedOption } from "./words.ts";

/** The script for bash 3.2, which macOS has, and newer. */
export function bashCompletion(
  name: string,
  commands: readonly CompletedCommand[],
): string {
  return `# bash completion of ${name}. To use it: eval "$(${name} completion bash)"
_${name}_offer() {
  local found
  while IFS= read -r found; do COMPREPLY+=("$found"); done < <(compgen "$@" -- "$current")
}
_${name}() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} path="" word i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case "\${path# } $word" in
${commandCases(commands)}
    esac
  done
  path=\${path# }
  case "$path $previous" in
${commands.flatMap((command) => valueCases(name, command)).join("\n")}
  esac
  case "$path" in
${commands.map((command) => wordCase(name, command)).join("\n")}
  esac
}
complete -F _${name} ${name}
`;
}

/** Follows the words that name a command. Skips the values of options. */
function commandCases(commands: readonly CompletedCommand[]): string {
  const paths = commands.map(({ path }) => path).filter((path) => path !== "");
  return paths.map((path) =>
    `      "${path.includes(" ") ? path : ` ${path}`}") path=" ${path}" ;;`
  )
    .join("\n");
}

function valueCases(
  name: string,
  { path, options }: CompletedCommand,
): string[] {
  return options.filter(({ hasValue }) => hasValue).map(
    ({ words, completes }) => {
      const pattern = words.map((word) => `"${path} ${word}"`).join("|");
      return `    ${pattern}) ${offer(name, completes)}return ;;`;
    },
  );
}

function wordCase(
  name: string,
  { path, parts, options, completes }: CompletedCommand,
): string {
  const words = options.flatMap((option: CompletedOption) => option.words);
  const others = parts.length > 0 ? parts.map(([word]) => word) : completes;
  return `    "${path}")
      if [[ $current == -* ]]; then ${offer(name, words)}return; fi
      ${offer(name, others)};;`;
}

/** Offers the completions of the word being typed. File names may contain spaces. */
function offer(name: string, completes: Completes | undefined): string {
  switch (completes) {
    case undefined:
      return "";
    case "file":
      return `compopt -o filenames 2>/dev/null; _${name}_offer -f; `;
    case "folder":
      return `compopt -o filenames 2>/dev/null; _${name}_offer -d; `;
    default:
      return `_${name}_offer -W "${completes.join(" ")}"; `;
  }
}
