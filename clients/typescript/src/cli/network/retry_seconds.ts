import { UsageError } from "../../../../../packages/command/usage_error.ts";

const NAME = "--retry-seconds";

/** Takes `--retry-seconds` out of a verb's arguments. Ignores everything after a `--`. */
export function takeRetrySeconds(
  args: readonly string[],
): { readonly retrySeconds?: number; readonly rest: readonly string[] } {
  const end = args.includes("--") ? args.indexOf("--") : args.length;
  const at = args.findIndex((word, index) =>
    index < end && (word === NAME || word.startsWith(`${NAME}=`))
  );
  if (at === -1) return { rest: args };
  const isOneWord = args[at] !== NAME;
  const text = isOneWord ? args[at]!.slice(NAME.length + 1) : args[at + 1] ?? "";
  if (!/^[0-9]{1,6}$/.test(text)) {
    throw new UsageError(`${NAME} takes a number of seconds.`);
  }
  const rest = args.toSpliced(at, isOneWord ? 1 : 2);
  return { retrySeconds: Number(text), rest };
}
