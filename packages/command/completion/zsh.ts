import type { Completes } from "../command.ts";
import type { CompletedCommand, CompletedOption } from "./words.ts";

/** The script for zsh: to be evaluated, or stored as `_<name>` in a folder of `fpath`. */
export function zshCompletion(
  name: string,
  commands: readonly CompletedCommand[],
): string {
  return `#compdef ${name}
# zsh completion of ${name}. To use it: source <(${name} completion zsh)
${commands.map((command) => functionOf(name, command)).join("\n")}
# Sourced, it is registered; in a folder of fpath, it is called.
if [[ $funcstack[1] == _${name} ]]; then
  ${functionName(name, "")} "$@"
else
  compdef ${functionName(name, "")} ${name}
fi
`;
}

function functionName(name: string, path: string): string {
  return `_${[name, "command", ...path.split(" ").filter(Boolean)].join("_")}`;
}

function functionOf(
  name: string,
  { path, parts, options, completes }: CompletedCommand,
): string {
  const specifications = options.map(optionSpecification);
  const own = functionName(name, path);
  if (parts.length === 0) {
    const rest = completes === undefined ? [] : [`'*:file:${actionOf(completes)}'`];
    return `${own}() {
  _arguments -s ${[...specifications, ...rest].join(" \\\n    ")}
}`;
  }
  const known = parts.filter(([word]) => word !== "help");
  return `${own}() {
  local line state
  _arguments -C ${specifications.join(" \\\n    ")} '1: :->word' '*:: :->rest'
  case $state in
    word)
      local -a words_with_summaries=(
${
    parts.map(([word, summary]) => `        ${quoted(`${word}:${summary}`)}`)
      .join("\n")
  }
      )
      _describe verb words_with_summaries ;;
    rest)
      case $line[1] in
${
    known.map(([word]) =>
      `        ${word}) ${functionName(name, path === "" ? word : `${path} ${word}`)} ;;`
    ).join("\n")
  }
      esac ;;
  esac
}`;
}

function optionSpecification(
  { words, help, hasValue, completes }: CompletedOption,
): string {
  const text = help.replaceAll(/([\][:\\])/g, "\\$1");
  const value = hasValue ? `:value:${completes === undefined ? " " : actionOf(completes)}` : "";
  return words.map((word) => quoted(`*${word}[${text}]${value}`)).join(" ");
}

function actionOf(completes: Completes): string {
  if (completes === "file") return "_files";
  return completes === "folder" ? "_files -/" : `(${completes.join(" ")})`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
