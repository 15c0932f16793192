import { takeOption } from "../../command/parse.ts";
import { UsageError } from "../../command/usage_error.ts";

const NAME = "--retry-seconds";

/** Takes `--retry-seconds` out of a verb's arguments. Ignores everything after a `--`. */
export function takeRetrySeconds(
  args: readonly string[],
): { readonly retrySeconds?: number; readonly rest: readonly string[] } {
  const { value, rest } = takeOption(args, NAME);
  if (value === undefined) return { rest };
  if (!/^[0-9]{1,6}$/.test(value ?? "")) {
    throw new UsageError(`${NAME} takes a number of seconds.`);
  }
  return { retrySeconds: Number(value), rest };
}
