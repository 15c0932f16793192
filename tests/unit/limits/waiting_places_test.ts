import assert from "node:assert/strict";
import { ServiceError } from "../../../supabase/functions/_shared/request/errors.ts";
import type { CallerArgument } from "../../../supabase/functions/_shared/identity/callers/caller.ts";
import {
  type Place,
  Places,
} from "../../../supabase/functions/_shared/operations/waiting/places.ts";
import { Questions } from "../../../supabase/functions/_shared/operations/waiting/questions.ts";

function agent(name: string): CallerArgument {
  return { kind: "agent", key_hash: name, request_id: "test" };
}

/** Takes a place and keeps it. `isLost` is set as soon as another wait takes the place. */
function takePlace(places: Places, caller: CallerArgument, enrolmentId: string | null = null) {
  const place = places.enter(caller);
  const taken = { place, isLost: false };
  const agentId = caller.key_hash ?? "";
  const identity = enrolmentId === null ? null : { agentId, keyId: agentId, enrolmentId };
  taken.isLost = !place.keep(() => taken.isLost = true, identity);
  return taken;
}

function lostOf(taken: readonly { readonly isLost: boolean }[]): number {
  return taken.filter(({ isLost }) => isLost).length;
}

function assertNoRoom(enter: () => Place, maximum: number): void {
  assert.throws(enter, (error) => {
    assert.ok(error instanceof ServiceError);
    assert.equal(error.code, "upstream_unavailable");
    assert.deepEqual(error.details, { limit: "waits_at_once", maximum });
    assert.ok(error.retryAfterSeconds! >= 1);
    return true;
  });
}

Deno.test("as many as there are places, each of another caller → the next is refused, nobody loses a place; room again when one leaves", () => {
  const places = new Places(3);
  const taken = ["a", "b", "c"].map((name) => takePlace(places, agent(name)));
  assertNoRoom(() => places.enter(agent("d")), 3);
  assertNoRoom(() => places.enter(agent("a")), 3);
  taken[1]!.place.leave();
  taken[1]!.place.leave();
  const next = takePlace(places, agent("d"));
  assertNoRoom(() => places.enter(agent("e")), 3);
  assert.deepEqual([...taken, next].map(({ isLost }) => isLost), [false, false, false, false]);
});

Deno.test("all places taken, most of them by one caller → it loses its oldest ones to others, until none has two more", () => {
  const places = new Places(4);
  const greedy = Array.from({ length: 4 }, () => takePlace(places, agent("greedy")));
  assertNoRoom(() => places.enter(agent("greedy")), 4);
  const first = takePlace(places, agent("a"));
  const second = takePlace(places, agent("a"));
  assert.deepEqual(greedy.map(({ isLost }) => isLost), [true, true, false, false]);
  assertNoRoom(() => places.enter(agent("a")), 4);
  takePlace(places, agent("b"));
  assert.deepEqual(
    [...greedy, first, second].filter(({ isLost }) => isLost).length,
    3,
    "somebody had two",
  );
  assertNoRoom(() => places.enter(agent("greedy")), 4);
});

Deno.test("a caller whom the database does not know yet → takes nobody's place before it keeps its own", () => {
  const places = new Places(2);
  const greedy = [takePlace(places, agent("greedy")), takePlace(places, agent("greedy"))];
  const strangers = ["x", "y", "z"].map((name) => places.enter(agent(name)));
  for (const place of strangers) place.leave();
  assert.deepEqual(greedy.map(({ isLost }) => isLost), [false, false]);
  takePlace(places, agent("known"));
  assert.deepEqual(greedy.map(({ isLost }) => isLost), [true, false]);
});

Deno.test("more than 32 places of one key → its oldest is lost, others keep theirs; the operator has more", () => {
  const places = new Places(1000);
  const other = takePlace(places, agent("other"));
  const own = Array.from({ length: 34 }, () => takePlace(places, agent("own")));
  assert.deepEqual(own.slice(0, 3).map(({ isLost }) => isLost), [true, true, false]);
  const operator: CallerArgument = { kind: "operator", request_id: "test" };
  const many = Array.from({ length: 100 }, () => takePlace(places, operator));
  assert.equal([other, ...own.slice(2), ...many].some(({ isLost }) => isLost), false);
});

Deno.test("a place that is lost before it is kept → not kept, and free for others", () => {
  const places = new Places(100);
  const early = places.enter(agent("own"));
  for (let number = 0; number < 32; number++) takePlace(places, agent("own"));
  assert.equal(early.keep(() => assert.fail("nobody waits here")), false);
  early.leave();
});

Deno.test("all places taken by many agents of one enrolment, each with one → it loses its oldest to others, who lose none; one more of it is refused", () => {
  const places = new Places(6);
  const fleet = Array.from(
    { length: 6 },
    (_, index) => takePlace(places, agent(`fleet ${index}`), "enr_1"),
  );
  // Its enrolment is known only once the database has answered.
  assertNoRoom(() => takePlace(places, agent("fleet 6"), "enr_1").place, 6);
  assert.equal(lostOf(fleet), 0);
  const others = ["a", "b"].map((name) => takePlace(places, agent(name)));
  assert.deepEqual(fleet.map(({ isLost }) => isLost), [true, true, false, false, false, false]);
  const second = [0, 1].map((index) => takePlace(places, agent(`second ${index}`), "enr_2"));
  assert.equal(lostOf(fleet), 4);
  assert.equal(lostOf([...others, ...second]), 0);
  assertNoRoom(() => takePlace(places, agent("fleet 7"), "enr_1").place, 6);
  assertNoRoom(() => takePlace(places, agent("second 2"), "enr_2").place, 6);
  // The greediest party cannot take from another, and nobody has two more than a newcomer of it.
  for (const { place } of [...others, ...second]) place.leave();
  assert.equal(
    lostOf([2, 3, 4].map((index) => takePlace(places, agent(`second ${index}`), "enr_2"))),
    0,
  );
});

Deno.test("all places taken by one enrolment, most of them by one of its agents → that agent loses its oldest to the others of it", () => {
  const places = new Places(4);
  const greedy = Array.from({ length: 4 }, () => takePlace(places, agent("greedy"), "enr_1"));
  takePlace(places, agent("modest"), "enr_1");
  assert.deepEqual(greedy.map(({ isLost }) => isLost), [true, false, false, false]);
});

Deno.test("an agent with several keys of an enrolment → its places count together", () => {
  const places = new Places(1000);
  const identity = { agentId: "one", keyId: "key_1", enrolmentId: "enr_1" };
  let lost = 0;
  for (let number = 0; number < 34; number++) {
    const place = places.enter(agent(`key ${number % 2}`));
    assert.ok(place.keep(() => lost++, identity));
  }
  assert.equal(lost, 2);
});

Deno.test("forty questions at once → sixteen are asked, the others in order as these end, however they end", async () => {
  const questions = new Questions();
  const asked: number[] = [];
  const ends: (() => void)[] = [];
  const answers = Array.from({ length: 40 }, (_, number) =>
    questions.ask(() => {
      asked.push(number);
      return new Promise<number>((resolve, reject) =>
        ends.push(() => number % 2 === 0 ? resolve(number) : reject(new Error("refused")))
      );
    }));
  const settled = Promise.allSettled(answers);
  for (let ended = 0; ended < 40; ended++) {
    await new Promise((resolve) => setTimeout(resolve, 0));
    assert.equal(asked.length, Math.min(40, 16 + ended));
    ends[ended]!();
  }
  assert.equal((await settled).filter(({ status }) => status === "fulfilled").length, 20);
  assert.deepEqual(asked, Array.from({ length: 40 }, (_, number) => number));
});
