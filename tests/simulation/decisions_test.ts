import assert from "node:assert/strict";
import { leastOf } from "./runs/shrink.ts";
import { commandOf, readCommand } from "./runs/command.ts";
import { Decisions } from "./world/decisions.ts";
import { Timeline } from "./world/timeline.ts";

Deno.test("decisions in another order, or with one calmed → each other one is the same", () => {
  const names = Array.from({ length: 200 }, (_, index) => `call ${index}`);
  const decide = (decisions: Decisions, order: readonly string[]) =>
    new Map(order.map((name) => [name, decisions.choose(name, [[3, "no"], [1, "yes"]])]));
  const first = new Decisions(9);
  const decided = decide(first, names);
  assert.deepEqual(first.taken, names.filter((name) => decided.get(name) === "yes"));
  assert.ok(first.taken.length > 30 && first.taken.length < 70, `${first.taken.length}`);
  const reversed = decide(new Decisions(9), names.toReversed());
  for (const name of names) assert.equal(reversed.get(name), decided.get(name));
  const calmed = first.taken[0]!;
  const again = decide(new Decisions(9, { calm: new Set([calmed]) }), names);
  for (const name of names) {
    assert.equal(again.get(name), name === calmed ? "no" : decided.get(name));
  }
  assert.notDeepEqual(decide(new Decisions(10), names), decided);
});

Deno.test("an item that was not picked is missing → the same one is picked", () => {
  const items = ["a1", "a4", "a9", "a12"];
  const decisions = new Decisions(3);
  const picked = decisions.pick("7", items, (item) => item);
  for (const missing of items.filter((item) => item !== picked)) {
    const rest = items.filter((item) => item !== missing);
    assert.equal(decisions.pick("7", rest, (item) => item), picked);
  }
});

Deno.test("events at one instant, and cancelled ones → in the order of their scheduling", () => {
  const timeline = new Timeline();
  const seen: number[] = [];
  for (const [number, at] of [[1, 20], [2, 10], [3, 10], [4, 30], [5, 10]] as const) {
    const event = timeline.after(at, () => seen.push(number));
    if (number === 3) event.isCancelled = true;
  }
  while (timeline.step(20));
  assert.deepEqual(seen, [2, 5, 1]);
  assert.equal(timeline.now, 20);
  assert.equal(timeline.step(29), false);
  timeline.passTo(29);
  assert.equal(timeline.step(30), true);
  assert.deepEqual(seen, [2, 5, 1, 4]);
});

Deno.test("delta debugging → the least part that fails", async () => {
  const items = Array.from({ length: 40 }, (_, index) => index);
  let calls = 0;
  const least = await leastOf(items, (some) => {
    calls++;
    return Promise.resolve(some.includes(3) && some.includes(31));
  });
  assert.deepEqual(least, [3, 31]);
  assert.ok(calls < 60, `${calls}`);
});

Deno.test("the command of a smaller history → asks for that history", () => {
  const omissions = { steps: new Set([1, 3, 1002, 1004]), calm: new Set(["2.1 fate", "2 gap"]) };
  const question = { seed: 5, steps: 4, omissions };
  const text = commandOf(question, null);
  assert.equal(
    text,
    'deno task simulate --seed 5 --steps 4 --only 2,4 --without 1002,1004 --calm "2.1 fate;2 gap"',
  );
  const args = [
    "--seed",
    "5",
    "--steps",
    "4",
    "--only",
    "2,4",
    "--without",
    "1002,1004",
    "--calm",
    "2.1 fate;2 gap",
  ];
  assert.deepEqual(readCommand(args)!.question, question);
  const opening = {
    seed: 5,
    steps: 4,
    omissions: { steps: new Set([1001]), calm: new Set<string>() },
  };
  assert.equal(commandOf(opening, null), "deno task simulate --seed 5 --steps 4 --without 1001");
  assert.equal(readCommand([]), null);
  assert.equal(readCommand(["--seed", "5", "--steps", "1001"]), null);
  assert.deepEqual(readCommand(["--seeds", "20"])!.seeds, [1, 20]);
  assert.deepEqual(readCommand(["--seeds", "5..9"])!.seeds, [5, 9]);
});
