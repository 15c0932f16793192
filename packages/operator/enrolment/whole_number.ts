import { UsageError } from "../../command/usage_error.ts";

/** The number that an option takes. Throws UsageError. */
export function wholeNumber(option: string, text: string): number {
  if (!/^[1-9][0-9]{0,8}$/.test(text)) throw new UsageError(`--${option} takes a whole number.`);
  return Number(text);
}
