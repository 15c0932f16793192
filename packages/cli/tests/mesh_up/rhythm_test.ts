/** How long the agent of `mesh up` pauses, and how long its requests wait. */
import assert from "node:assert/strict";
import { Rhythm } from "../../mesh/up/service/rhythm.ts";

for (
  const { failures, retryAfter, least, most } of [
    { failures: 1, retryAfter: 0, least: 1.8, most: 2 },
    { failures: 1, retryAfter: 10, least: 10, most: 11 },
    { failures: 4, retryAfter: 10, least: 14.4, most: 16 },
    { failures: 20, retryAfter: 0, least: 27, most: 30 },
    { failures: 20, retryAfter: 29, least: 27, most: 30 },
    { failures: 1, retryAfter: 29, least: 29, most: 30 },
    { failures: 1, retryAfter: 3600, least: 30, most: 30 },
  ]
) {
  Deno.test(`failure ${failures}, retry-after ${retryAfter}, a heartbeat every 30 s → a pause of ${least} to ${most} s`, () => {
    const rhythm = new Rhythm(null);
    rhythm.failures = failures;
    for (let count = 0; count < 300; count++) {
      const pause = rhythm.backOffSeconds(retryAfter);
      assert.ok(pause >= least && pause <= most, String(pause));
    }
  });
}

Deno.test("a service that waits → requests of almost 140 s, one after another", () => {
  const rhythm = new Rhythm(null);
  for (let count = 0; count < 100; count++) {
    const wait = rhythm.waitSeconds(0);
    assert.ok(wait >= 135 && wait <= 140, String(wait));
    rhythm.heartbeatBegins(wait);
    rhythm.hasWaited();
    assert.ok(rhythm.pauseSeconds(0) <= 1.1);
  }
});

Deno.test("a service that answers at once, again and again → asked once per interval", () => {
  const rhythm = new Rhythm(4);
  for (let count = 0; count < 10; count++) rhythm.heartbeatBegins(rhythm.waitSeconds(0));
  const pause = rhythm.pauseSeconds(0);
  assert.ok(pause >= 3.6 && pause <= 4.4, String(pause));
});

Deno.test("something cuts off a wait after 60 s → shorter waits, and after an hour long ones again", () => {
  const rhythm = new Rhythm(null);
  rhythm.waitFailed(100, { status: 0, seconds: 60 });
  assert.equal(rhythm.waitSeconds(200), 54);
  assert.ok(rhythm.waitSeconds(3701) >= 135);
});
