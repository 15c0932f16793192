import { type DatabaseFacts, type Facts, inspected } from "../facts/facts.ts";
import { fault, type Finding, note, ok, shell } from "../findings/finding.ts";
import { lastRunBefore } from "../reading/cron.ts";

const MINUTE_MILLISECONDS = 60_000;
const HOUR_MILLISECONDS = 3_600_000;
/** Without a schedule, sweeping once a day until nothing remains is enough. One hour of grace. */
const PATIENCE_HOURS = 25;
/**
 * How long pg_cron, pg_net and a sweep may take until the database records that the sweep ended.
 */
const GRACE_MILLISECONDS = 5 * MINUTE_MILLISECONDS;
const WAYS =
  "docs/retention.md, Schedule it. With pg_cron and pg_net: select public.agent_api_schedule_sweep();";
/** The database knows only what pg_cron was given, not who else calls /sweep regularly. */
const SEE_WHO_SWEEPS =
  `If nothing calls /sweep regularly, schedule it: ${WAYS} (The local stack sweeps by itself.)`;
const LOOK =
  "select * from net._http_response order by id desc limit 5; shows the answers to the last calls. To sweep now:";
const SCHEDULE = `Schedule it, or call /sweep from elsewhere: ${WAYS} To sweep now:`;

/** Whether sweeps have run and will run again. Without them, nothing that has ended is removed. */
export function checkSweep(facts: Facts): Finding[] {
  const database = inspected(facts);
  if (database === null) return [];
  const { swept_at, sweep_schedule } = database;
  const silence = describe(silenceIn(database));
  const schedule = sweep_schedule === null
    ? "agent_api_schedule_sweep was never called"
    : `pg_cron was given ${sweep_schedule}`;
  const isLate = isTooLong(database);
  const sweepNow = shell(
    `curl -sS --fail-with-body -X POST '${facts.url}/functions/v1/agent-artifacts/sweep' \\\n` +
      `  -H "apikey: $SUPABASE_SECRET_KEY" -d '{}'`,
  );
  const words = sweep_schedule === null ? SCHEDULE : LOOK;
  const message = swept_at === null
    ? (isLate ? `Nobody has swept for ${silence}` : "Nobody has swept yet") + `; ${schedule}.`
    : `The last sweep ended ${silence} ago; ${schedule}.`;
  if (isLate) return [fault("sweep", message, words, sweepNow)];
  if (swept_at === null) return [note("sweep", message, words, sweepNow)];
  return [
    sweep_schedule === null ? note("sweep", message, SEE_WHO_SWEEPS) : ok("sweep", message),
  ];
}

/** The milliseconds since the last sweep ended. */
function silenceIn({ time, installed_at, swept_at }: DatabaseFacts): number {
  return Date.parse(time) - Date.parse(swept_at ?? installed_at);
}

function isTooLong(database: DatabaseFacts): boolean {
  const { time, installed_at, swept_at, sweep_schedule } = database;
  const isForDays = silenceIn(database) > PATIENCE_HOURS * HOUR_MILLISECONDS;
  if (sweep_schedule === null) return isForDays;
  const due = lastRunBefore(sweep_schedule, Date.parse(time) - GRACE_MILLISECONDS);
  return due === null ? isForDays : Date.parse(swept_at ?? installed_at) < due;
}

function describe(milliseconds: number): string {
  const hours = milliseconds / HOUR_MILLISECONDS;
  if (hours >= 48) return `${Math.floor(hours / 24)} days`;
  if (hours >= 2) return `${Math.floor(hours)} hours`;
  const minutes = Math.max(0, Math.floor(hours * 60));
  return minutes === 1 ? "1 minute" : `${minutes} minutes`;
}
