import assert from "node:assert/strict";
import { absentFrom, breakNamed, changed } from "./breaks/break.ts";
import { changedFunctions } from "./breaks/changed_functions.ts";
import { playHistory } from "./history.ts";
import { shrink } from "./runs/shrink.ts";
import { openStage } from "./stage.ts";
import { FIRST_OPENING } from "./world/decisions.ts";

const MOST_SEEDS = 40;
/** Without it, more steps are spent on what these faults break. */
const ABSENT = absentFrom({ absent: ["bucket"] });

Deno.test("a revoked token opens again → found, and made smaller by at least half", async () => {
  const stage = await openStage(await breakNamed("files/revoked_token"));
  for (let seed = 1; seed <= MOST_SEEDS; seed++) {
    const question = { seed, steps: 40, absent: ABSENT };
    const outcome = await playHistory(stage, question);
    if (outcome.violation === null) continue;
    assert.match(outcome.violation.what, /^a dead token was redeemed/);
    const smaller = await shrink(stage, question, outcome);
    const kept = smaller.question.steps - smaller.question.omissions!.steps.size;
    assert.ok(kept <= 20, `${kept} steps`);
    assert.ok(smaller.outcome.transcript.length <= outcome.transcript.length / 2);
    const again = await playHistory(stage, smaller.question);
    assert.deepEqual(again.transcript, smaller.outcome.transcript);
    return;
  }
  assert.fail(`not found in ${MOST_SEEDS} seeds`);
});

Deno.test("an idempotency key makes two grants → smaller by at least half, also at the beginning", async () => {
  const stage = await openStage();
  for (const text of await changedFunctions((await breakNamed("grants/two_grants"))!)) {
    stage.database.run(text);
  }
  const broken = { ...stage, start: stage.database.save() };
  for (let seed = 1; seed <= MOST_SEEDS; seed++) {
    const question = { seed, steps: 40, absent: ABSENT };
    const outcome = await playHistory(broken, question);
    if (outcome.violation === null) continue;
    assert.match(outcome.violation.invariant, /^an idempotency key makes one grant/);
    const { question: smaller, outcome: least } = await shrink(broken, question, outcome);
    assert.ok(least.made.length <= outcome.made.length / 2, `${least.made.length} moves`);
    assert.ok(least.transcript.length <= outcome.transcript.length / 2);
    const openings = [...smaller.omissions!.steps].filter((step) => step >= FIRST_OPENING);
    assert.notDeepEqual(openings, []);
    assert.deepEqual((await playHistory(broken, smaller)).transcript, least.transcript);
    return;
  }
  assert.fail(`not found in ${MOST_SEEDS} seeds`);
});

Deno.test("a lost move gives its lease back → a copy that no row names, found", async () => {
  const stage = await openStage(await breakNamed("files/second_copy"));
  for (let seed = 1; seed <= MOST_SEEDS; seed++) {
    const question = { seed, steps: 40, absent: ABSENT };
    const { violation } = await playHistory(stage, question);
    if (violation === null) continue;
    assert.equal(violation.invariant, "Storage has no bytes that no row names");
    const { violation: without } = await playHistory(await openStage(), question);
    assert.equal(without, null);
    return;
  }
  assert.fail(`not found in ${MOST_SEEDS} seeds`);
});

Deno.test("an upload's row stays without its bytes → it cannot be committed, found", async () => {
  const stage = await openStage(await breakNamed("files/lost_upload"));
  for (let seed = 1; seed <= MOST_SEEDS; seed++) {
    const { violation } = await playHistory(stage, { seed, steps: 40, absent: ABSENT });
    if (violation === null) continue;
    assert.match(violation.invariant, /^an upload can be committed within five minutes/);
    return;
  }
  assert.fail(`not found in ${MOST_SEEDS} seeds`);
});

Deno.test("a change whose place is missing, or not the only one → refused", () => {
  const change = { file: "sql", from: "a", to: "b" } as const;
  const broken = { number: 1, words: "", changes: [change] };
  assert.equal(changed("cab", "sql", broken), "cbb");
  assert.throws(() => changed("none of it", "sql", broken), /0 places/);
  assert.throws(() => changed("aa", "sql", broken), /2 places/);
  assert.equal(changed("aa", "other.ts", broken), "aa");
});
