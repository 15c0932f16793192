import { timestamp } from "../../../supabase/functions/_shared/request/fields.ts";
import { CommandError } from "../../command/command_error.ts";

const MILLISECONDS = { m: 60_000, h: 3_600_000, d: 86_400_000 };

interface Reading {
  readonly now?: number;
  /** The option's name. */
  readonly option?: string;
  /** The time of day that a date without a time means. */
  readonly timeOfDay?: "00:00:00.000" | "23:59:59.999";
}

/**
 * The instant that `--since` names, as ISO 8601 in UTC. The option takes a timestamp, a date (its
 * first instant), or how long ago in minutes, hours or days, such as `90m`, `2h` and `7d`. Null if
 * the option was not given. Throws CommandError.
 */
export function sinceOf(
  text: string | undefined,
  { now = Date.now(), option = "--since", timeOfDay = "00:00:00.000" }: Reading = {},
): string | null {
  if (text === undefined) return null;
  const [, count, unit] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  if (count !== undefined) {
    const ago = Number(count) * MILLISECONDS[unit as keyof typeof MILLISECONDS];
    return new Date(now - ago).toISOString();
  }
  const isDate = /^\d{4}-\d{2}-\d{2}$/.test(text);
  const parsed = timestamp.safeParse(isDate ? `${text}T${timeOfDay}Z` : text);
  if (!parsed.success) {
    throw new CommandError(
      `${option} takes how long ago, such as 90m, 2h or 7d, a date such as 2026-01-31 (UTC), or a timestamp such as 2026-01-31T09:30:00Z.`,
    );
  }
  return parsed.data;
}

/** Like `sinceOf`, for `--until`: a date means its last instant. Throws CommandError. */
export function untilOf(text: string | undefined, reading: Pick<Reading, "now"> = {}) {
  return sinceOf(text, { ...reading, option: "--until", timeOfDay: "23:59:59.999" });
}
