import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { playHistory } from "./history.ts";
import { openStage } from "./stage.ts";

const QUESTION = { seed: 9, steps: 25 };

Deno.test("the same seed after other seeds, and in another process → the same transcript", async () => {
  const stage = await openStage();
  const { transcript, violation } = await playHistory(stage, QUESTION);
  assert.equal(violation, null);
  assert.ok(transcript.some((line) => line.includes("!!")), "no fault was injected");
  const other = await playHistory(stage, { seed: 5, steps: 10 });
  assert.notDeepEqual(other.transcript.slice(0, 10), transcript.slice(0, 10));
  assert.deepEqual((await playHistory(stage, QUESTION)).transcript, transcript);

  const main = fileURLToPath(new URL("./main.ts", import.meta.url));
  const args = ["--seed", `${QUESTION.seed}`, "--steps", `${QUESTION.steps}`];
  const { stdout, success } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--allow-all", main, ...args],
    stderr: "inherit",
  }).output();
  assert.ok(success);
  assert.deepEqual(new TextDecoder().decode(stdout).trimEnd().split("\n"), transcript);
});

Deno.test("a step is left out → every other step makes the same move", async () => {
  const stage = await openStage();
  const whole = await playHistory(stage, QUESTION);
  const omissions = { steps: new Set([20]), calm: new Set<string>() };
  const { transcript } = await playHistory(stage, { ...QUESTION, omissions });
  const movesOf = (lines: readonly string[]) =>
    lines.flatMap((line) => /^ *[0-9.]+ +(\d+) [a-z]+ (?!PUTs)/.exec(line)?.[1] ?? []);
  const kept = movesOf(whole.transcript).filter((step) => step !== "20");
  assert.deepEqual(
    movesOf(transcript).filter((step) => Number(step) < 20),
    kept
      .filter((step) => Number(step) < 20),
  );
  assert.ok(!movesOf(transcript).includes("20"));
});
