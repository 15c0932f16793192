import assert from "node:assert/strict";
import { ServiceError } from "../../../supabase/functions/_shared/request/errors.ts";
import type { Caller } from "../../../supabase/functions/_shared/identity/callers/caller.ts";
import type { Identity } from "../../../supabase/functions/_shared/request/request_record.ts";
import {
  RateLimits,
  type Slot,
} from "../../../supabase/functions/_shared/request/limits/rate_limits.ts";

/** A clock that only the test moves. */
class Clock {
  seconds = 1000;
  readonly now = () => this.seconds * 1000;
}

function limits(
  { perMinute = 0, atOnce = 0, ofEnrolment = {}, clock = new Clock() }: {
    perMinute?: number;
    atOnce?: number;
    ofEnrolment?: { perMinute?: number; atOnce?: number };
    clock?: Clock;
  },
): RateLimits {
  return new RateLimits({
    rateLimitRequestsPerMinute: perMinute,
    rateLimitRequestsAtOnce: atOnce,
    rateLimitEnrolmentPerMinute: ofEnrolment.perMinute ?? 0,
    rateLimitEnrolmentAtOnce: ofEnrolment.atOnce ?? 0,
  }, { now: clock.now, identityOf });
}

/** The hash of a key of enrolment `enr_1` is `enr_1 …` here. */
function identityOf(caller: Caller): Identity | null {
  if (caller.kind !== "agent") return null;
  const [enrolmentId, name] = caller.keyHash.split(" ");
  return name === undefined
    ? null
    : { agentId: name, keyId: caller.keyHash, enrolmentId: enrolmentId! };
}

/** Sends requests that end at once. Returns how many were let in. */
function enterAndLeave(rateLimits: RateLimits, callerId: string, times: number): number {
  let entered = 0;
  for (let time = 0; time < times; time++) {
    try {
      rateLimits.enterAs(callerId).leave();
      entered++;
    } catch (error) {
      assertRateLimited(error);
    }
  }
  return entered;
}

function refusalOf(enter: () => Slot): ServiceError {
  let refusal: unknown;
  try {
    enter();
  } catch (error) {
    refusal = error;
  }
  assertRateLimited(refusal);
  return refusal;
}

function assertRateLimited(error: unknown): asserts error is ServiceError {
  assert.ok(error instanceof ServiceError);
  assert.equal(error.code, "rate_limited");
}

Deno.test("requests beyond a minute's worth → rate_limited, and when to try again; others are let in", () => {
  const rateLimits = limits({ perMinute: 10 });
  assert.equal(enterAndLeave(rateLimits, "alice", 12), 10);
  const refusal = refusalOf(() => rateLimits.enterAs("alice"));
  assert.deepEqual(refusal.details, { limit: "requests_per_minute", maximum: 10 });
  assert.equal(refusal.retryAfterSeconds, 6);
  assert.equal(enterAndLeave(rateLimits, "bob", 12), 10);
});

Deno.test("time passes → as many requests as it brings, at most a minute's worth; refused ones do not count", () => {
  const clock = new Clock();
  const rateLimits = limits({ perMinute: 10, clock });
  assert.equal(enterAndLeave(rateLimits, "alice", 100), 10);
  clock.seconds += 5;
  assert.equal(refusalOf(() => rateLimits.enterAs("alice")).retryAfterSeconds, 1);
  clock.seconds += 1;
  assert.equal(enterAndLeave(rateLimits, "alice", 100), 1);
  clock.seconds += 30;
  assert.equal(enterAndLeave(rateLimits, "alice", 100), 5);
  clock.seconds += 3600;
  assert.equal(enterAndLeave(rateLimits, "alice", 100), 10);
});

Deno.test("a limit of requests per minute that divides into no whole milliseconds → exactly as many", () => {
  const rateLimits = limits({ perMinute: 7000 });
  assert.equal(enterAndLeave(rateLimits, "alice", 7001), 7000);
});

Deno.test("requests at once beyond the limit → rate_limited until one ends, however often it says so", () => {
  const rateLimits = limits({ atOnce: 2 });
  const first = rateLimits.enterAs("alice");
  rateLimits.enterAs("alice");
  const refusal = refusalOf(() => rateLimits.enterAs("alice"));
  assert.deepEqual(refusal.details, { limit: "requests_at_once", maximum: 2 });
  assert.equal(refusal.retryAfterSeconds, 1);
  rateLimits.enterAs("bob");
  first.leave();
  first.leave();
  rateLimits.enterAs("alice");
  refusalOf(() => rateLimits.enterAs("alice"));
});

Deno.test("a request refused for those at once → does not count for the minute", () => {
  const rateLimits = limits({ perMinute: 2, atOnce: 1 });
  const first = rateLimits.enterAs("alice");
  refusalOf(() => rateLimits.enterAs("alice"));
  refusalOf(() => rateLimits.enterAs("alice"));
  first.leave();
  rateLimits.enterAs("alice");
});

Deno.test("a request that waits → its place is free meanwhile, and taken again after it, whoever came", async () => {
  const rateLimits = limits({ atOnce: 1 });
  const waiting = Promise.withResolvers<string>();
  const waiter = rateLimits.enterAs("alice");
  const waited = waiter.whileFree(() => waiting.promise);
  const other = rateLimits.enterAs("alice");
  refusalOf(() => rateLimits.enterAs("alice"));
  waiting.resolve("news");
  assert.equal(await waited, "news");
  other.leave();
  refusalOf(() => rateLimits.enterAs("alice"));
  waiter.leave();
  rateLimits.enterAs("alice");
});

Deno.test("a request that ends while it waits, or whose wait fails → leaves one place, not two", async () => {
  const rateLimits = limits({ atOnce: 1 });
  const failing = Promise.withResolvers<never>();
  const waiter = rateLimits.enterAs("alice");
  const waited = waiter.whileFree(() => failing.promise);
  waiter.leave();
  failing.reject(new Error("the database went away"));
  await assert.rejects(waited, /went away/);
  const next = rateLimits.enterAs("alice");
  await assert.rejects(next.whileFree(() => Promise.reject(new Error("again"))), /again/);
  refusalOf(() => rateLimits.enterAs("alice"));
  next.leave();
  rateLimits.enterAs("alice");
});

Deno.test("limits of 0 → every request is let in", () => {
  const rateLimits = limits({});
  for (let time = 0; time < 1000; time++) rateLimits.enterAs("alice");
});

Deno.test("a million callers → the last 20,000 are remembered, and none before the last 40,000", () => {
  const rateLimits = limits({ perMinute: 1 });
  for (let caller = 0; caller < 1_000_000; caller++) rateLimits.enterAs(`caller ${caller}`).leave();
  refusalOf(() => rateLimits.enterAs("caller 980000"));
  rateLimits.enterAs("caller 959999").leave();
});

Deno.test("callers who come again and again → are remembered, however many others come", () => {
  const rateLimits = limits({ perMinute: 2 });
  rateLimits.enterAs("steady").leave();
  rateLimits.enterAs("steady").leave();
  for (let caller = 0; caller < 30_000; caller++) rateLimits.enterAs(`caller ${caller}`).leave();
  refusalOf(() => rateLimits.enterAs("steady"));
});

Deno.test("the operator → is not counted; an agent is, by the hash of its key; users are, by their agent", () => {
  const rateLimits = limits({ perMinute: 1 });
  rateLimits.enter({ kind: "operator" });
  rateLimits.enter({ kind: "operator" });

  const agent = { kind: "agent", keyHash: "0a" } as const;
  rateLimits.enter(agent);
  assert.equal(refusalOf(() => rateLimits.enter(agent)).code, "rate_limited");
  rateLimits.enter({ ...agent, keyHash: "0b" });

  const user = { kind: "user", agentId: "ada", userId: "1", expiresAt: "none" } as const;
  rateLimits.enter(user);
  refusalOf(() => rateLimits.enter({ ...user, userId: "2" }));
  rateLimits.enter({ ...user, agentId: "0a" });
});

Deno.test("many agents of one enrolment → together within its limits; others, and agents of none, are let in, and a refusal counts nowhere", async () => {
  const agent = (keyHash: string): Caller => ({ kind: "agent", keyHash });
  const clock = new Clock();
  const rateLimits = limits({
    perMinute: 4,
    atOnce: 2,
    clock,
    ofEnrolment: { perMinute: 10, atOnce: 3 },
  });
  const slots = ["a", "b", "c"].map((name) => rateLimits.enter(agent(`enr_1 ${name}`)));
  const atOnce = refusalOf(() => rateLimits.enter(agent("enr_1 d")));
  assert.deepEqual(atOnce.details, { limit: "requests_at_once_of_enrolment", maximum: 3 });
  for (const other of ["enr_2 a", "alone"]) rateLimits.enter(agent(other)).leave();
  await slots[0]!.whileFree(() => {
    rateLimits.enter(agent("enr_1 d")).leave();
    return Promise.resolve();
  });
  for (const slot of slots) slot.leave();

  for (let request = 0; request < 6; request++) {
    rateLimits.enter(agent(`enr_1 ${request}`)).leave();
  }
  const perMinute = refusalOf(() => rateLimits.enter(agent("enr_1 new")));
  assert.deepEqual(perMinute.details, { limit: "requests_per_minute_of_enrolment", maximum: 10 });
  rateLimits.enter(agent("enr_2 a")).leave();
  clock.seconds += 60;
  for (let request = 0; request < 4; request++) rateLimits.enter(agent("enr_1 new")).leave();
  const own = refusalOf(() => rateLimits.enter(agent("enr_1 new")));
  assert.deepEqual(own.details, { limit: "requests_per_minute", maximum: 4 });
  for (let request = 0; request < 6; request++) {
    rateLimits.enter(agent(`enr_1 ${request}`)).leave();
  }
  refusalOf(() => rateLimits.enter(agent("enr_1 7")));
});
