import assert from "node:assert/strict";
import {
  CallerCounts,
  type UsageEntry,
} from "../../../supabase/functions/_shared/request/usage/caller_counts.ts";

const PLANNER = { key_hash: "planner" };
const SERVED = { errorCode: null, isKnown: true };

/** Counts that write to `written`. While `fails()` is true, writes fail. */
function counting({ fails = () => false }: { fails?: () => boolean } = {}) {
  const written: (readonly UsageEntry[])[] = [];
  const counts = new CallerCounts({
    // Longer than any test, so only explicit writes happen.
    writeSeconds: 3600,
    write(entries) {
      if (fails()) return Promise.reject(new Error("no database"));
      written.push(entries);
      return Promise.resolve();
    },
  });
  return { counts, written };
}

/** The counts of each caller, without the times. */
function numbersOf(entries: readonly UsageEntry[] = []) {
  return entries.map(({ seconds_ago: _, is_unknown: __, ...numbers }) => numbers);
}

/** The lines that are written to the error log while `run` runs. */
async function logged(run: () => Promise<unknown>): Promise<string[]> {
  const lines: string[] = [];
  const { error } = console;
  console.error = (line: string) => lines.push(line);
  try {
    await run();
  } finally {
    console.error = error;
  }
  return lines;
}

Deno.test("requests of two callers → one entry each, with its refusals by code; other errors are none", async () => {
  const { counts, written } = counting();
  counts.count(PLANNER, SERVED);
  counts.count(PLANNER, { errorCode: "artifact_not_found", isKnown: true });
  counts.count(PLANNER, { errorCode: "artifact_not_found", isKnown: true });
  counts.count(PLANNER, { errorCode: "forbidden", isKnown: true });
  counts.count(PLANNER, { errorCode: "invalid_request", isKnown: true });
  counts.count({ agent_id: "stranger" }, { errorCode: "unauthenticated", isKnown: false });
  await counts.writeNow();
  assert.deepEqual(written.map(numbersOf), [[
    { key_hash: "planner", requests: 5, refusals: { artifact_not_found: 2, forbidden: 1 } },
    { agent_id: "stranger", requests: 1, refusals: { unauthenticated: 1 } },
  ]]);
  assert.deepEqual(written[0]!.map(({ is_unknown }) => is_unknown), [false, true]);
  assert.ok(written[0]!.every(({ seconds_ago }) => seconds_ago >= 0));
  assert.equal(counts.finish(), null);
});

Deno.test("a write that fails → its counts come with the next one; after a second failure they are lost, and the log has one line", async () => {
  let failures = 1;
  const { counts, written } = counting({ fails: () => failures-- > 0 });
  counts.count(PLANNER, SERVED);
  const lines = await logged(() => counts.writeNow());
  assert.match(
    lines.join("\n"),
    /^\{.*"error":"usage_not_written","cause":"Error: no database"\}$/,
  );
  counts.count(PLANNER, { errorCode: "forbidden", isKnown: true });
  await counts.writeNow();
  assert.deepEqual(written.map(numbersOf), [[
    { key_hash: "planner", requests: 2, refusals: { forbidden: 1 } },
  ]]);

  failures = 2;
  counts.count(PLANNER, SERVED);
  const twice = await logged(async () => {
    await counts.writeNow();
    await counts.writeNow();
  });
  assert.equal(twice.length, 1);
  assert.equal(counts.finish(), null);
});

Deno.test("more callers than are kept → written at once", () => {
  const { counts, written } = counting();
  for (let caller = 0; caller < 2001; caller++) counts.count({ key_hash: `${caller}` }, SERVED);
  assert.deepEqual(written.map(({ length }) => length), [2001]);
  assert.equal(counts.finish(), null);
});

Deno.test("any number of keys that nobody knows → 500 of them are counted, beside everybody who is known", async () => {
  const { counts, written } = counting();
  const unknown = { errorCode: "unauthenticated", isKnown: false };
  for (let key = 0; key < 10_000; key++) counts.count({ key_hash: `made up ${key}` }, unknown);
  counts.count(PLANNER, SERVED);
  await counts.writeNow();
  assert.equal(written.length, 1);
  assert.equal(written[0]!.length, 501);
  assert.deepEqual(numbersOf(written[0]).at(-1), { ...PLANNER, requests: 1, refusals: {} });
});
