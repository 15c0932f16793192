import { UsageError } from "../command/usage_error.ts";

/** A whole number within bounds, or undefined. Throws UsageError. */
export function numberOf(
  text: string | undefined,
  { option, least, most }: {
    readonly option: string;
    readonly least: number;
    readonly most: number;
  },
): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (/^[0-9]{1,7}$/.test(text) && number >= least && number <= most) return number;
  throw new UsageError(`${option} takes a number from ${least} to ${most}.`);
}
