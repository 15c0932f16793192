import { timestamp } from "../../supabase/functions/_shared/fields.ts";
import { CommandError } from "../../local/command/command_error.ts";

const MILLISECONDS = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * The instant that an option such as `--since` names, as ISO 8601 in UTC. The option takes a
 * timestamp, or how long ago in minutes, hours or days, such as `90m`, `2h` and `7d`. Null if the
 * option was not given. Throws CommandError.
 */
export function sinceOf(
  text: string | undefined,
  { now = Date.now(), option = "--since" }: { readonly now?: number; readonly option?: string } =
    {},
): string | null {
  if (text === undefined) return null;
  const [, count, unit] = /^(\d{1,5})([mhd])$/.exec(text) ?? [];
  if (count !== undefined) {
    const ago = Number(count) * MILLISECONDS[unit as keyof typeof MILLISECONDS];
    return new Date(now - ago).toISOString();
  }
  const parsed = timestamp.safeParse(text);
  if (!parsed.success) {
    throw new CommandError(
      `${option} takes how long ago, such as 90m, 2h or 7d, or a timestamp such as 2026-01-31T09:30:00Z.`,
    );
  }
  return parsed.data;
}
