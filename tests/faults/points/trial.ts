import assert from "node:assert/strict";
import type postgres from "postgres";
import type { Answer } from "../../conformance/client.ts";
import { gate } from "../../own_function/proxy.ts";
import { type Fault, KILLS, type RevealingTrouble, TROUBLES } from "./faults.ts";
import type { Arranged, Scenario } from "./scenario.ts";
import { CallCounter, keyOf, type UpstreamCall } from "./upstream_call.ts";
import type { Victim } from "./victim.ts";

/** A call at which a fault can strike. */
export interface Point {
  readonly call: UpstreamCall;
  /** The call that must fail first, if `call` is made only then. */
  readonly after?: { readonly call: UpstreamCall; readonly trouble: RevealingTrouble };
}

/** The outcome of one trial. */
export interface Outcome {
  /** The first answer, as `status` or `status code`; `none` if the connection was lost. */
  readonly first: string;
  /** The final answer to the same request, which is repeated until it is settled. */
  readonly last: string;
  /** All upstream calls of the first request. */
  readonly calls: readonly UpstreamCall[];
}

/** How often one request is sent, at most, until its answer is final. */
const MOST_REQUESTS = 8;

export function keyOfPoint({ call, after }: Point): string {
  return after === undefined
    ? keyOf(call)
    : `${keyOf(call)} after ${keyOf(after.call)}: ${after.trouble}`;
}

/** Sends an arranged request without faults until it is settled. Resolves to its distinct calls. */
export async function recordCalls(scenario: Scenario, victim: Victim): Promise<UpstreamCall[]> {
  const arranged = await scenario.arrange();
  const calls = new Map<string, UpstreamCall>();
  const counter = new CallCounter();
  victim.proxy.intercept((passing) => {
    const call = counter.count(passing);
    calls.set(keyOf(call), call);
  });
  await settle(scenario, { victim, arranged });
  victim.proxy.letPass();
  await arranged.holds?.();
  return [...calls.values()];
}

/**
 * Arranges the scenario, lets `fault` strike at `point` of the first request, and repeats the
 * request until it is settled. Throws unless the answers and the final state keep the contract.
 */
export async function tryFault(
  { scenario, point, victim, sql }: {
    readonly scenario: Scenario;
    readonly point: Point;
    readonly victim: Victim;
    readonly sql: postgres.Sql;
  },
  faultName: string,
): Promise<Outcome> {
  const fault = (KILLS[faultName] ?? TROUBLES[faultName])!;
  const arranged = await scenario.arrange();
  const answered = gate();
  const calls: UpstreamCall[] = [];
  const strikes: Promise<Response>[] = [];
  let unfinished = 0;
  const counter = new CallCounter();
  victim.proxy.intercept((passing, forward) => {
    const call = counter.count(passing);
    calls.push(call);
    const faultHere = faultAt(point, call, fault);
    if (faultHere === undefined) return;
    unfinished++;
    const strike = faultHere({ forward, victim, answered, sql }).finally(() => unfinished--);
    strikes.push(strike);
    return strike;
  });

  let first: Answer<unknown> | null;
  let isAnsweredEarly: boolean;
  try {
    first = await victim.ask(arranged.request);
    // A large file takes several requests, and the point may be in a later one.
    while (strikes.length === 0 && first?.status === 202) {
      first = await victim.ask(arranged.request);
    }
  } finally {
    victim.proxy.letPass();
    isAnsweredEarly = unfinished > 0;
    answered.open();
  }
  assert.ok(strikes.length > 0, `${point.call.name} was called again`);
  if (faultName in KILLS) assert.equal(first, null, "the function was killed");
  else assertHonest(scenario, first);

  let last = await settle(scenario, { victim, arranged });
  if (isAnsweredEarly) {
    // The first request may still undo its changes. Send the same request again after it has
    // finished.
    await Promise.allSettled(strikes);
    last = await settle(scenario, { victim, arranged });
  }
  await arranged.holds?.();
  return { first: first === null ? "none" : describe(first), last: describe(last), calls };
}

/** The fault that strikes at the call `at`, if any. A repeated call meets the same fault again. */
function faultAt({ call, after }: Point, at: UpstreamCall, fault: Fault): Fault | undefined {
  if (at.name === call.name && at.nth >= call.nth) return fault;
  if (after !== undefined && at.name === after.call.name && at.nth >= after.call.nth) {
    return TROUBLES[after.trouble];
  }
  return undefined;
}

/** Asserts that an answer under trouble is final, or tells the caller when to retry. */
function assertHonest(scenario: Scenario, answer: Answer<unknown> | null): void {
  assert.ok(answer !== null, "the connection is lost, though nobody killed the function");
  const described = describe(answer);
  if (scenario.settled.includes(described) || answer.status === 202) return;
  assert.equal(described, "503 upstream_unavailable", JSON.stringify(answer.body));
  assert.ok(Number(answer.headers.get("retry-after")) > 0);
}

/** Repeats the request until its answer is one of the scenario's final answers. */
async function settle(
  scenario: Scenario,
  { victim, arranged }: { readonly victim: Victim; readonly arranged: Arranged },
): Promise<Answer<unknown>> {
  const seen: string[] = [];
  while (seen.length < MOST_REQUESTS) {
    const answer = await victim.ask(arranged.request);
    assert.ok(answer !== null, "no answer, though nothing strikes");
    const described = describe(answer);
    if (scenario.settled.includes(described)) return answer;
    seen.push(described);
    assert.ok(
      answer.headers.has("retry-after"),
      `the same request got ${seen.join(", ")}: ${JSON.stringify(answer.body)}`,
    );
    if (described === "409 commit_in_progress") await arranged.endLease?.();
  }
  throw new Error(`The same request was never settled: ${seen.join(", ")}.`);
}

function describe({ status, body }: Answer<unknown>): string {
  const { error } = body as { error?: { code?: string } };
  return error === undefined ? String(status) : `${status} ${error.code}`;
}
