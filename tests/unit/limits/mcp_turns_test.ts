import assert from "node:assert/strict";
import { takeTurn } from "../../../supabase/functions/_shared/operations/mcp/message_turns.ts";

/** Resolves at the end of this round of the event loop. */
function roundIsOver(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

Deno.test("takeTurn() of ten messages of one caller → in their order, no two in one round; another caller's at once", async () => {
  let round = 0;
  let isOver = false;
  const counting = (async () => {
    for (; !isOver; round++) await roundIsOver();
  })();
  const begun: { message: number; round: number }[] = [];
  const messages = Array.from({ length: 10 }, async (_, message) => {
    await takeTurn("one");
    begun.push({ message, round });
  });
  await takeTurn("other");
  assert.ok(begun.length <= 1, "another caller waits for none of them");
  await Promise.all(messages);
  isOver = true;
  await counting;
  assert.deepEqual(begun.map(({ message }) => message), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  const rounds = new Set(begun.map(({ round }) => round));
  assert.equal(rounds.size, 10, JSON.stringify(begun));
});

Deno.test("takeTurn() while an earlier message waits for something → does not wait for that", async () => {
  const never = takeTurn("one").then(() => new Promise<void>(() => {}));
  await takeTurn("one");
  assert.equal(await Promise.race([never, Promise.resolve("went on")]), "went on");
});
