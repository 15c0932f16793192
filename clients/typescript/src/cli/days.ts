import { UsageError } from "./command/usage_error.ts";

/** A whole number of days from 1. Throws UsageError. */
export function daysOf(text: string, option: string): number {
  if (!/^[1-9][0-9]{0,4}$/.test(text)) throw new UsageError(`${option} takes a number of days.`);
  return Number(text);
}
