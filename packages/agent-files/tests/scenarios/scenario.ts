/** What both clients must do alike: the words of the tables in this folder. */
import assert from "node:assert/strict";

/** A value of JSON. `$planner`, `$builder`: their ids. `$1.key`: the key in step 1's answer. */
export type Value = null | boolean | number | string | readonly Value[] | Fields;
export interface Fields {
  readonly [name: string]: Value;
}

/** How a call must fail. A status of 0: before anything was sent. */
export type Failure = readonly [code: string, status: number, retryable?: boolean];

/**
 * One call. Methods and arguments are in Python's spelling: `from_agent` is `fromAgent` in
 * TypeScript. What is iterated over is a list; `get` also answers the file's `text`.
 */
export interface Step {
  /** `stranger` has a key that the service does not know. */
  readonly as: "planner" | "builder" | "stranger";
  readonly call: string;
  readonly with?: Fields;
  /** For `tasks`: what is called for each task, in this order. */
  readonly each?: readonly (readonly [method: string, options?: Fields])[];
  /** What the answer has, at least. A list has exactly these entries. */
  readonly gives?: Value;
  readonly fails?: Failure;
}

export interface Scenario {
  readonly name: string;
  readonly steps: readonly Step[];
  /** `agent-files/testing` and `agent_files.testing` lack an operation that it needs. */
  readonly isNotInTesting?: true;
}

/** What a client did with one step. */
export interface Outcome {
  readonly gave?: Value;
  readonly failed?: Failure;
}

/** Replaces what begins with `$`. */
export function resolved(
  value: Value,
  outcomes: readonly Outcome[],
  ids: Readonly<Record<string, string>>,
): Value {
  if (Array.isArray(value)) return value.map((one) => resolved(one, outcomes, ids));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [name, resolved(one, outcomes, ids)]),
    );
  }
  if (typeof value !== "string" || !value.startsWith("$")) return value;
  const [first, ...path] = value.slice(1).split(".");
  if (path.length === 0) return ids[first!]!;
  let found: unknown = outcomes[Number(first) - 1]!.gave;
  for (const name of path) found = (found as Record<string, unknown>)[name];
  return found as Value;
}

/** Fails unless each step ended as its scenario says. */
export function assertOutcomes(
  { steps }: Scenario,
  outcomes: readonly Outcome[],
  ids: Readonly<Record<string, string>>,
): void {
  assert.equal(outcomes.length, steps.length, "every step ran");
  for (const [index, { call, gives, fails }] of steps.entries()) {
    const { gave, failed } = outcomes[index]!;
    const step = `step ${index + 1}, ${call}`;
    if (fails !== undefined) {
      const [code, status, retryable = false] = fails;
      assert.deepEqual(failed, [code, status, retryable], step);
      continue;
    }
    assert.equal(failed, undefined, `${step}: ${failed}`);
    if (gives === undefined) continue;
    const expected = resolved(gives, outcomes, ids);
    assert.deepEqual(partOf(gave!, expected), expected, step);
  }
}

/** Fails unless the last step needed what a service inside the process lacks. */
export function assertNotInTesting(outcomes: readonly Outcome[]): void {
  assert.deepEqual(outcomes.at(-1)!.failed, ["not_in_testing", 501, false]);
}

/** What `expected` names of a value. */
function partOf(value: Value, expected: Value): Value {
  if (Array.isArray(value) && Array.isArray(expected)) {
    return value.map((one, index) => partOf(one, expected[index]));
  }
  if (typeof expected !== "object" || expected === null || Array.isArray(expected)) return value;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(expected).map(([name, one]) => [name, partOf((value as Fields)[name]!, one)]),
  );
}
