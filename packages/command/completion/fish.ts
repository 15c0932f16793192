import type { Completes } from "../command.ts";
import type { CompletedCommand, CompletedOption } from "./words.ts";

/** The script for fish. */
export function fishCompletion(
  name: string,
  commands: readonly CompletedCommand[],
): string {
  return `# fish completion of ${name}. To use it: ${name} completion fish | source
function __${name}_at --description 'Whether the words that name a command are these'
    set -l words (commandline -opc)
    set -l found
    for word in $words[2..-1]
        switch "$found $word"
${
    commands.filter(({ path }) => path !== "").map(({ path }) =>
      `            case ${quoted(path.includes(" ") ? path : ` ${path}`)}\n` +
      `                set found ${quoted(path)}`
    ).join("\n")
  }
        end
    end
    test "$found" = "$argv"
end
complete -c ${name} -f
${commands.flatMap((command) => linesOf(name, command)).join("\n")}
`;
}

function linesOf(
  name: string,
  { path, parts, options, completes }: CompletedCommand,
): string[] {
  const begin = `complete -c ${name} -n "__${name}_at ${path}"`;
  return [
    ...parts.map(([word, summary]) => `${begin} -a ${quoted(word)} -d ${quoted(summary)}`),
    ...options.map((option) => `${begin} ${optionOf(option)}`),
    ...(completes === undefined ? [] : [`${begin} ${valuesOf(completes)}`]),
  ];
}

function optionOf(
  { words, help, hasValue, completes }: CompletedOption,
): string {
  const names = words.map((word) =>
    word.startsWith("--") ? `-l ${word.slice(2)}` : `-s ${word.slice(1)}`
  );
  // `-x` would suppress file names.
  const value = !hasValue
    ? []
    : completes === "file"
    ? ["-r", valuesOf(completes)]
    : ["-x", ...(completes === undefined ? [] : [valuesOf(completes)])];
  return [...names, ...value, `-d ${quoted(help)}`].join(" ");
}

function valuesOf(completes: Completes): string {
  if (completes === "file") return "-F";
  if (completes === "folder") return `-a '(__fish_complete_directories)'`;
  return `-a ${quoted(completes.join(" "))}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
