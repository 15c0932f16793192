const MINUTE_MILLISECONDS = 60_000;
/** pg_cron runs at least once in this time, except for dates such as 29 February. */
const MOST_MINUTES = 366 * 24 * 60;

/**
 * The last time at or before `now` at which pg_cron ran a schedule, in milliseconds since 1970. A
 * schedule is five fields in UTC, or a number of seconds. Null if the schedule is not understood.
 */
export function lastRunBefore(schedule: string, now: number): number | null {
  const seconds = /^([1-9]|[1-5][0-9]) seconds?$/i.exec(schedule.trim())?.[1];
  if (seconds !== undefined) return now - Number(seconds) * 1000;
  const fields = schedule.trim().split(/\s+/);
  if (fields.length !== 5) return null;
  const [minutes, hours, days, months, weekdays] = [
    valuesOf(fields[0]!, 0, 59),
    valuesOf(fields[1]!, 0, 23),
    valuesOf(fields[2]!, 1, 31),
    valuesOf(fields[3]!, 1, 12),
    valuesOf(fields[4]!, 0, 7),
  ];
  if (!minutes || !hours || !days || !months || !weekdays) return null;
  const isDay = (date: Date) => {
    const weekday = date.getUTCDay();
    const isWeekday = weekdays.has(weekday) || weekday === 0 && weekdays.has(7);
    // As in cron: if both fields are restricted, a day that matches one of them is enough.
    const isEither = !fields[2]!.startsWith("*") && !fields[4]!.startsWith("*");
    const isDate = days.has(date.getUTCDate());
    return months.has(date.getUTCMonth() + 1) &&
      (isEither ? isDate || isWeekday : isDate && isWeekday);
  };
  let at = Math.floor(now / MINUTE_MILLISECONDS) * MINUTE_MILLISECONDS;
  for (let looked = 0; looked < MOST_MINUTES; looked++, at -= MINUTE_MILLISECONDS) {
    const date = new Date(at);
    if (minutes.has(date.getUTCMinutes()) && hours.has(date.getUTCHours()) && isDay(date)) {
      return at;
    }
  }
  return null;
}

/** The values that a field names; null if the field is not understood. */
function valuesOf(field: string, least: number, most: number): Set<number> | null {
  const values = new Set<number>();
  for (const part of field.split(",")) {
    const [, range, from, to, step = "1"] = /^(\*|(\d+)(?:-(\d+))?)(?:\/(\d+))?$/.exec(part) ?? [];
    if (range === undefined || Number(step) === 0) return null;
    const first = range === "*" ? least : Number(from);
    const isOpen = range === "*" || to === undefined && part.includes("/");
    const last = isOpen ? most : Number(to ?? from);
    for (let value = first; value <= last; value += Number(step)) values.add(value);
  }
  return values;
}
