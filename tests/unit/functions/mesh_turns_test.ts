import assert from "node:assert/strict";
import { inTurn } from "../../../supabase/functions/agent-mesh/change_turns.ts";

const agent = { kind: "agent", key_hash: "a".repeat(64), request_id: "test" } as const;
const other = { ...agent, key_hash: "b".repeat(64) };
const operator = { kind: "operator", request_id: "test" } as const;

Deno.test("inTurn() of ten changes by one agent → four at a time, each once, in their order", async () => {
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const change = (number: number) => () => {
    begun.push(number);
    return new Promise<number>((resolve) => ends.push(() => resolve(number)));
  };
  const results = Array.from({ length: 10 }, (_, number) => inTurn(agent, change(number)));
  await settled();
  assert.deepEqual(begun, [0, 1, 2, 3]);

  // Neither another agent nor the operator has to wait for these calls.
  assert.equal(await inTurn(other, () => Promise.resolve("other")), "other");
  assert.equal(await inTurn(operator, () => Promise.resolve("operator")), "operator");

  for (let ended = 0; ended < 10; ended++) {
    ends[ended]!();
    await settled();
    assert.equal(begun.length, Math.min(10, ended + 5));
  }
  assert.deepEqual(await Promise.all(results), Array.from({ length: 10 }, (_, number) => number));
});

Deno.test("inTurn() of a change that fails → the failure, and the next one has its turn", async () => {
  const failing = () => Promise.reject(new Error("refused"));
  const results = await Promise.allSettled([
    ...Array.from({ length: 4 }, () => inTurn(agent, failing)),
    inTurn(agent, () => Promise.resolve("done")),
  ]);
  assert.deepEqual(results.map(({ status }) => status), [
    ...Array.from({ length: 4 }, () => "rejected"),
    "fulfilled",
  ]);
});

/** Resolves when every promise that can settle by itself has settled. */
function settled(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
