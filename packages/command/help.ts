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

/** What a program with verbs says of itself, in its help and in its manual page. */
export interface About {
  readonly name: string;
  /** A sentence that begins with the name. */
  readonly summary: string;
  /** What applies to every verb, a paragraph each. */
  readonly notes: readonly string[];
  readonly exitCodes: readonly (readonly [code: string, meaning: string])[];
}

/** What `<name> --help` prints, wrapped at `columns`. */
export function helpOfAll(
  { name, summary, notes, exitCodes }: About,
  verbs: Readonly<Record<string, Described>>,
  columns: number,
): string {
  const summaries = Object.entries(verbs).map(([verb, { summary }]) => [verb, summary] as const);
  return [
    `${wrapped(summary, columns)}\n`,
    `Usage: ${name} <verb> …\n`,
    definitions(summaries, columns),
    ...notes.map((text) => `${wrapped(text, columns)}\n`),
    `Exit codes:\n${definitions(exitCodes, columns)}`,
  ].join("\n");
}
