import { parseArgs, type ParseArgsConfig } from "node:util";
import { Output } from "../clients/typescript/src/cli/terminal/output.ts";
import { CommandError } from "../local/command/command_error.ts";
import { runCommand } from "../local/command/run_command.ts";

type Options = NonNullable<ParseArgsConfig["options"]>;
type Parsed<Own extends Options> = ReturnType<
  typeof parseArgs<{ options: Own; allowPositionals: true }>
>;

interface OperatorCommand<Own extends Options> {
  /** Its name in deno.json. */
  readonly task: string;
  /** One line. */
  readonly summary: string;
  /** What is written behind the task; "" where nothing is. */
  readonly usage: string;
  /** What each option does, by its name. */
  readonly help: Readonly<Record<keyof Own & string, string>>;
  /** A whole line. */
  readonly example: string;
  readonly options: Own;
  /** How many positional arguments it takes. Default: none. */
  readonly positionals?: { readonly least: number; readonly most: number };
  readonly run: (parsed: Parsed<Own>, output: Output) => Promise<void>;
}

/**
 * Runs a task of the operator with this program's arguments, to its end. Every one takes `--help`,
 * and `--json` for one JSON value per line. An error becomes one sentence on standard error and
 * exit code 1.
 */
export async function runOperatorCommand<const Own extends Options>(
  command: OperatorCommand<Own>,
): Promise<void> {
  if (Deno.args.includes("--help")) return console.log(helpOf(command));
  await runCommand(async () => {
    const { json, ...parsed } = parse(command);
    try {
      await command.run(parsed as Parsed<Own>, new Output({ json }));
    } catch (error) {
      // Who reads the output has seen enough.
      if ((error as NodeJS.ErrnoException)?.code !== "EPIPE") throw error;
    }
  });
}

function parse<Own extends Options>(
  { options, positionals: { least, most } = { least: 0, most: 0 }, ...command }: OperatorCommand<
    Own
  >,
) {
  try {
    const parsed = parseArgs({
      args: Deno.args,
      allowPositionals: true,
      options: { ...options, json: { type: "boolean" } },
    });
    const { length } = parsed.positionals;
    if (length < least || length > most) throw new TypeError(`${length} positional arguments`);
    return { ...parsed, json: (parsed.values as { json?: boolean }).json === true };
  } catch (cause) {
    throw new CommandError(`Usage: ${usageOf(command)}`, { cause });
  }
}

function usageOf({ task, usage }: { readonly task: string; readonly usage: string }): string {
  return `deno task ${task} ${usage}`.trimEnd();
}

/** What `deno task <task> --help` prints. */
function helpOf<Own extends Options>(command: OperatorCommand<Own>): string {
  const options = Object.entries({
    ...command.help,
    json: "one JSON value per line",
    help: "show this",
  }).map(([name, meaning]) => `  --${name.padEnd(14)} ${meaning}`);
  return [
    command.summary,
    "",
    `Usage: ${usageOf(command)}`,
    "",
    ...options,
    "",
    "Example:",
    `  ${command.example}`,
  ].join("\n");
}
