import type { Described, Option, Options } from "./command.ts";
import { definitions, wrapped } from "./layout.ts";

const COMMON: Options = {
  json: { type: "boolean", help: "print one JSON value per line" },
  help: { type: "boolean", short: "h", help: "show this text" },
};

/** Every option of a command: its own, and those that all commands take. */
export function optionsOf(
  { options }: Described,
): [name: string, option: Option][] {
  return Object.entries({ ...options, ...COMMON });
}

/** `--out FILE`; `--follow` for an option without a value. */
export function optionWithValue(
  name: string,
  { type, value = "VALUE" }: Option,
): string {
  return type === "boolean" ? `--${name}` : `--${name} ${value}`;
}

/** How a command is written, such as `agentfiles put FILE… [--key KEY]`. */
export function usageOf(
  name: string,
  { options, positionals, parts }: Described,
): string {
  if (parts !== undefined) return `${name} ${Object.keys(parts).join("|")} …`;
  const shown = Object.entries(options).map(([option, declared]) =>
    `[${optionWithValue(option, declared)}]${declared.multiple ? "…" : ""}`
  );
  return [
    name,
    ...(positionals === undefined ? [] : [positionals.usage]),
    ...shown,
  ].join(" ");
}

/** What `<name> --help` prints, wrapped at `columns`. Longer words are not broken. */
export function helpOf(
  name: string,
  command: Described,
  columns: number,
): string {
  const options = optionsOf(command).map(([option, declared]) =>
    [
      `${declared.short === undefined ? "    " : `-${declared.short}, `}${
        optionWithValue(option, declared)
      }`,
      declared.help,
    ] as const
  );
  const parts = Object.entries(command.parts ?? {})
    .map(([part, { summary }]) => [part, summary] as const);
  return [
    `${wrapped(command.summary, columns)}\n`,
    `Usage: ${wrapped(usageOf(name, command), columns - 7, "  ")}\n`,
    ...(parts.length > 0 ? [definitions(parts, columns)] : []),
    definitions(options, columns),
    `Example:\n${command.example.split("\n").map((line) => `  ${line}\n`).join("")}`,
  ].join("\n");
}
