/** Which samples of memory a soak test accepts as flat. */
import assert from "node:assert/strict";
import { randomFrom } from "../emulated_link.ts";
import { isFlat, type Sample } from "./memory.ts";

type Name = Exclude<keyof Sample, "minutes">;

/**
 * Samples of a soak without a leak: lwIP reaches its size in the first ten minutes; heap and
 * process vary. `grows` is the factor by which a kind of memory is larger at a minute.
 */
function soak(
  { minutes = 60, seed = 1, grows = () => 1 }: {
    readonly minutes?: number;
    readonly seed?: number;
    readonly grows?: (name: Name, minute: number) => number;
  } = {},
): Sample[] {
  const random = randomFrom(seed);
  const varying = (size: number, share: number) => size * (1 + (random() - 0.5) * 2 * share);
  return Array.from({ length: minutes * 2 }, (_, index) => {
    const minute = (index + 1) / 2;
    return {
      minutes: minute,
      rss: varying(370e6, 0.03) * grows("rss", minute),
      heapUsed: varying(12e6, 0.02) * grows("heapUsed", minute),
      lwipBytes: (6e6 + 3e6 * Math.min(1, minute / 10)) * grows("lwipBytes", minute),
    };
  });
}

Deno.test("memory that varies, and grows in the warm-up alone → flat", () => {
  for (let seed = 1; seed <= 200; seed++) {
    assert.equal(isFlat(soak({ seed })), true, `seed ${seed}`);
    assert.equal(isFlat(soak({ seed, minutes: 20 })), true, `20 minutes, seed ${seed}`);
  }
});

Deno.test("one sample of twice the size → flat", () => {
  for (const at of [12, 30, 59.5, 60]) {
    assert.equal(isFlat(soak({ grows: (_, minute) => minute === at ? 2 : 1 })), true);
  }
});

for (const [name, growth] of [["rss", 0.15], ["heapUsed", 0.08], ["lwipBytes", 0.05]] as const) {
  Deno.test(`${name} that grows evenly by ${growth} after the warm-up, or by 0.57 in all → not flat`, () => {
    const after = (one: Name, minute: number) =>
      one === name ? 1 + growth * Math.max(0, minute - 10) / 50 : 1;
    const inAll = (one: Name, minute: number) => one === name ? 1 + 0.57 * minute / 60 : 1;
    for (const grows of [after, inAll]) {
      for (let seed = 1; seed <= 50; seed++) assert.equal(isFlat(soak({ seed, grows })), false);
    }
  });

  Deno.test(`${name} that is a tenth larger from the middle on, or leaks in bursts → not flat`, () => {
    const step = (one: Name, minute: number) => one === name && minute > 35 ? 1.1 : 1;
    const bursts = (one: Name, minute: number) =>
      one === name ? 1 + 0.03 * Math.floor(minute / 10) : 1;
    for (const grows of [step, bursts]) {
      for (let seed = 1; seed <= 50; seed++) assert.equal(isFlat(soak({ seed, grows })), false);
    }
  });
}

Deno.test("a run that is too short to tell → null", () => {
  assert.equal(isFlat([]), null);
  assert.equal(isFlat(soak({ minutes: 15 })), null);
  assert.notEqual(isFlat(soak({ minutes: 16 })), null);
});
