import { type Facts, inspected } from "../facts/facts.ts";
import { fault, type Finding, note, ok } from "../findings/finding.ts";

const HOUR_MILLISECONDS = 3_600_000;
/** Who repeats it until nothing remains may do so daily; an hour of grace. */
const PATIENCE_HOURS = 25;
const WAYS =
  "docs/retention.md, Schedule it. With pg_cron and pg_net: select public.schedule_sweep();";
const SCHEDULE = `Schedule it, or call /sweep from elsewhere: ${WAYS}`;
/** The database knows what pg_cron was given; what else calls /sweep again, it cannot know. */
const SEE_WHO_SWEEPS =
  `If nothing calls /sweep regularly, schedule it: ${WAYS} (The local stack sweeps by itself.)`;
const LOOK =
  "select * from net._http_response order by id desc limit 5; says what it was answered.";

/** Whether anybody sweeps, and will again: otherwise nothing that has ended is removed. */
export function checkSweep(facts: Facts): Finding[] {
  const database = inspected(facts);
  if (database === null) return [];
  const { time, installed_at, swept_at, sweep_schedule } = database;
  const silence = Date.parse(time) - Date.parse(swept_at ?? installed_at);
  const isLate = silence > PATIENCE_HOURS * HOUR_MILLISECONDS;
  const remedy = sweep_schedule === null ? SCHEDULE : LOOK;
  const schedule = sweep_schedule === null
    ? "schedule_sweep was never called"
    : `pg_cron was given ${sweep_schedule}`;
  if (swept_at === null) {
    return [
      isLate
        ? fault("sweep", `Nobody has swept for ${describe(silence)}; ${schedule}.`, remedy)
        : note("sweep", `Nobody has swept yet; ${schedule}.`, remedy),
    ];
  }
  const last = `The last sweep ended ${describe(silence)} ago`;
  if (isLate) return [fault("sweep", `${last}; ${schedule}.`, remedy)];
  return [
    sweep_schedule === null
      ? note("sweep", `${last}; ${schedule}.`, SEE_WHO_SWEEPS)
      : ok("sweep", `${last}; ${schedule}.`),
  ];
}

function describe(milliseconds: number): string {
  const hours = milliseconds / HOUR_MILLISECONDS;
  if (hours >= 48) return `${Math.floor(hours / 24)} days`;
  return hours >= 2
    ? `${Math.floor(hours)} hours`
    : `${Math.max(0, Math.floor(hours * 60))} minutes`;
}
