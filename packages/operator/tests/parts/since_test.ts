import assert from "node:assert/strict";
import { sinceOf, untilOf } from "../../output/since.ts";

const NOW = Date.parse("2026-03-10T12:00:00.000Z");

for (
  const [text, since] of [
    ["90m", "2026-03-10T10:30:00.000Z"],
    ["2h", "2026-03-10T10:00:00.000Z"],
    ["7d", "2026-03-03T12:00:00.000Z"],
    ["2026-01-31T09:30:00Z", "2026-01-31T09:30:00.000Z"],
    ["2026-01-31", "2026-01-31T00:00:00.000Z"],
    ["2024-02-29", "2024-02-29T00:00:00.000Z"],
    [undefined, null],
  ] as const
) {
  Deno.test(`sinceOf() of ${text} → ${since}`, () =>
    assert.equal(sinceOf(text, { now: NOW }), since));
}

for (const text of ["", "7", "7w", "-1d", "2026-02-30", "2026-1-31", "31.1.2026", "yesterday"]) {
  Deno.test(`sinceOf() of "${text}" → refused, with what it takes`, () => {
    assert.throws(
      () => sinceOf(text, { now: NOW }),
      /^CommandError: --since takes how long ago, such as /,
    );
  });
}

for (
  const [text, until] of [
    ["2h", "2026-03-10T10:00:00.000Z"],
    ["2026-01-31", "2026-01-31T23:59:59.999Z"],
    ["2026-01-31T09:30:00Z", "2026-01-31T09:30:00.000Z"],
    [undefined, null],
  ] as const
) {
  Deno.test(`untilOf() of ${text} → ${until}`, () =>
    assert.equal(untilOf(text, { now: NOW }), until));
}
