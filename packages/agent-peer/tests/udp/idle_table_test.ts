import assert from "node:assert/strict";
import { type EntryEnd, IdleTable } from "../../ip/udp/idle_table.ts";

/** A table of eight places with a clock of its own. */
function table() {
  const ended: [string, EntryEnd][] = [];
  const clock = { now: 0 };
  const entries = new IdleTable<string>({
    most: 8,
    idleMs: 1000,
    onEnd: (value, why) => void ended.push([value, why]),
    now: () => clock.now,
  });
  return { entries, ended, clock, close: () => entries.endIf(() => true, "closed") };
}

Deno.test("an entry that is used → stays; one that is not → ends when its time is over, even if the timer is late", () => {
  const { entries, ended, clock, close } = table();
  for (const key of ["used", "idle"]) assert.equal(entries.add("one", key, key), true);
  clock.now = 999;
  assert.equal(entries.use("used"), "used");
  assert.equal(entries.get("idle"), "idle");
  clock.now = 1000;
  assert.equal(entries.get("idle"), undefined);
  assert.deepEqual(ended, [["idle", "idle"]]);
  assert.equal(entries.use("used"), "used");
  close();
  assert.deepEqual(ended[1], ["used", "closed"]);
  assert.equal(entries.size, 0);
});

Deno.test("the timer → ends what is idle, and goes on for the rest", () => {
  const timers: [() => void, number | undefined][] = [];
  const { setTimeout } = globalThis;
  globalThis.setTimeout =
    ((action: () => void, after?: number) =>
      timers.push([action, after])) as unknown as typeof setTimeout;
  try {
    const { entries, ended, clock } = table();
    entries.add("one", "first", "first");
    clock.now = 400;
    entries.add("other", "second", "second");
    assert.deepEqual(timers.map(([, after]) => after), [1000]);
    clock.now = 1000;
    timers[0]![0]();
    assert.deepEqual(ended, [["first", "idle"]]);
    assert.equal(timers[1]![1], 400);
    clock.now = 1400;
    timers[1]![0]();
    assert.deepEqual(ended[1], ["second", "idle"]);
    assert.equal(timers.length, 2);
  } finally {
    globalThis.setTimeout = setTimeout;
  }
});

Deno.test("an owner that adds more than its part → loses its own longest idle entries; another one's stay", () => {
  const { entries, ended, close } = table();
  entries.add("quiet", "quiet", "quiet");
  for (let number = 0; number < 100; number++) {
    assert.equal(entries.add("flood", `flood ${number}`, `${number}`), true);
    entries.use("flood 0");
  }
  assert.equal(entries.get("quiet"), "quiet");
  assert.equal(entries.get("flood 0"), "0", "it was used in the meantime");
  assert.equal(entries.get("flood 99"), "99");
  assert.ok(entries.size <= 8, String(entries.size));
  assert.deepEqual(new Set(ended.map(([, why]) => why)), new Set(["too_many"]));
  // Others come late, and get their part all the same.
  for (const owner of ["second", "third"]) assert.equal(entries.add(owner, owner, owner), true);
  for (const key of ["quiet", "second", "third"]) assert.equal(entries.get(key), key);
  close();
});
