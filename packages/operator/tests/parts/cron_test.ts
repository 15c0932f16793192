import assert from "node:assert/strict";
import { lastRunBefore } from "../../doctor/reading/cron.ts";

/** A Wednesday. */
const NOW = "2026-11-25T12:34:56Z";

const CASES: readonly [schedule: string, last: string | null][] = [
  ["* * * * *", "2026-11-25T12:34:00Z"],
  ["*/10 * * * *", "2026-11-25T12:30:00Z"],
  ["5/20 * * * *", "2026-11-25T12:25:00Z"],
  ["0 3 * * *", "2026-11-25T03:00:00Z"],
  ["30 23 * * *", "2026-11-24T23:30:00Z"],
  ["0 0 * * 0", "2026-11-22T00:00:00Z"],
  ["0 0 * * 7", "2026-11-22T00:00:00Z"],
  ["0 9-17/4 * * 1-5", "2026-11-25T09:00:00Z"],
  ["0 0 1 * *", "2026-11-01T00:00:00Z"],
  ["0 0 1 * 2", "2026-11-24T00:00:00Z"],
  ["0 0 1 1 *", "2026-01-01T00:00:00Z"],
  ["30 seconds", "2026-11-25T12:34:26Z"],
  ["@daily", null],
  ["every hour", null],
  ["*/0 * * * *", null],
  ["0 0 30 2 *", null],
];

for (const [schedule, last] of CASES) {
  Deno.test(`the last run of ${schedule} → ${last ?? "is not known"}`, () => {
    const found = lastRunBefore(schedule, Date.parse(NOW));
    assert.equal(found, last === null ? null : Date.parse(last));
  });
}
