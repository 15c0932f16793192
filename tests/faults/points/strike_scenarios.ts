import assert from "node:assert/strict";
import postgres from "postgres";
import { SUPERUSER_URL } from "../../database/connection.ts";
import { runTask } from "../../../packages/local/tests/stack/stack_process.ts";
import { WAITING } from "../../operations/card.ts";
import { scenariosOfCards } from "./card_scenarios.ts";
import { KILLS, REVEALING_TROUBLES, TROUBLES } from "./faults.ts";
import { OTHER_SCENARIOS } from "./other_scenarios.ts";
import { namedCallsInCode, operationsOf, storageMethodsInCode } from "./code.ts";
import { type FunctionName, type Scenario, titleOf } from "./scenario.ts";
import { keyOfPoint, type Point, recordCalls, tryFault } from "./trial.ts";
import { keyOf } from "./upstream_call.ts";
import { startVictim, type Victim } from "./victim.ts";

/**
 * Calls that a process makes on its own, not for a request: it writes its usage counters, and reads
 * the keys that sign users' tokens. tests/own_function/usage and tests/users test faults of these
 * calls.
 */
const OF_NO_REQUEST = ["record_usage", "auth/jwks"];

/** The faults of each kind, and their part of a test's name. */
const KINDS = {
  killed: { faults: KILLS, inTitle: "killed at each of its calls" },
  troubled: { faults: TROUBLES, inTitle: "with every fault at each of its calls" },
};

/** The names of all calls that a fault has struck. */
const struck = new Set<string>();
const counts = { points: 0, faults: 0 };
const outcomes = new Map<string, number>();

/**
 * Adds the tests of one function with one kind of fault: a test for each scenario, and tests that
 * the scenarios cover every operation and every call. Each combination is in its own file, so that
 * they can run side by side.
 */
export function strikeScenariosOf(functionName: FunctionName, kind: keyof typeof KINDS): void {
  const { faults, inTitle } = KINDS[kind];
  const scenarios = [
    ...scenariosOfCards(functionName),
    ...OTHER_SCENARIOS.filter((scenario) => scenario.functionName === functionName),
  ];
  let contradictions: string | null = null;

  for (const scenario of scenarios) {
    Deno.test(
      `/${functionName}${
        titleOf(scenario)
      } ${inTitle} → settled when sent again, all invariants hold`,
      async () => {
        contradictions ??= await consistencyReport();
        assert.deepEqual(await complaintsAbout(scenario, Object.keys(faults)), []);
        assert.equal(await consistencyReport(), contradictions);
      },
    );
  }

  Deno.test(`every operation of ${functionName} → has a scenario`, () => {
    const tried = scenarios.map(({ path }) => `/${functionName}${path}`);
    assert.deepEqual([...new Set(tried)].sort(), operationsOf(functionName));
  });

  Deno.test(`every call that ${functionName} can make → was struck`, async () => {
    const notHere = functionName === WAITING.functionName ? [] : [WAITING.call];
    const missing = (await namedCallsInCode(functionName))
      .filter((name) => !struck.has(name) && ![...OF_NO_REQUEST, ...notHere].includes(name));
    assert.deepEqual(missing, []);
    const storageCalls = [...struck].filter((name) => name.includes(" "));
    assert.equal(
      storageCalls.length,
      storageMethodsInCode(functionName).length,
      storageCalls.join(),
    );
    console.log(`${counts.points} points, ${counts.faults} faults, by first and last answer:`);
    for (const [outcome, count] of [...outcomes].sort()) console.log(`  ${outcome}: ${count}`);
  });
}

/** The failures of all faults at all calls of the scenario. */
async function complaintsAbout(
  scenario: Scenario,
  faults: readonly string[],
): Promise<string[]> {
  const complaints: string[] = [];
  const sql = postgres(SUPERUSER_URL, { max: 3, onnotice: () => {} });
  try {
    await using victim = await startVictim(scenario);
    for await (const point of pointsOf(scenario, victim)) {
      struck.add(point.call.name);
      counts.points++;
      for (const fault of faults) {
        const complaint = await strike({ scenario, point, victim, sql }, fault);
        if (complaint !== null) complaints.push(complaint);
      }
    }
    await assertOneCurrentPerKey(sql);
  } finally {
    await sql.end();
  }
  return complaints;
}

/**
 * First the calls that the scenario makes without a fault. Then the calls that it makes only when
 * one of the first calls fails.
 */
async function* pointsOf(scenario: Scenario, victim: Victim): AsyncGenerator<Point> {
  const usual = await recordCalls(scenario, victim);
  const known = new Set(usual.map(keyOf));
  for (const call of usual) yield { call };
  const sql = postgres(SUPERUSER_URL, { max: 1 });
  try {
    for (const troubled of usual) {
      for (const trouble of REVEALING_TROUBLES) {
        const point = { call: troubled };
        const { calls } = await tryFault({ scenario, point, victim, sql }, trouble);
        const others = calls.filter((call) =>
          call.name !== troubled.name && !known.has(keyOf(call))
        );
        for (const call of others) yield { call, after: { call: troubled, trouble } };
        for (const call of others) known.add(keyOf(call));
      }
    }
  } finally {
    await sql.end();
  }
}

/** Resolves to a description of the failure, or to null. */
async function strike(
  target: { scenario: Scenario; point: Point; victim: Victim; sql: postgres.Sql },
  fault: string,
): Promise<string | null> {
  counts.faults++;
  try {
    const { first, last } = await tryFault(target, fault);
    const outcome = `${first} → ${last}`;
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    return null;
  } catch (error) {
    return `${keyOfPoint(target.point)}: ${fault}: ${
      error instanceof Error ? error.message : error
    }`;
  }
}

async function consistencyReport(): Promise<string> {
  const { output, errors } = await runTask("agentops fsck");
  assert.equal(errors, "");
  return output;
}

async function assertOneCurrentPerKey(sql: postgres.Sql): Promise<void> {
  const twice = await sql`
    select agent_id, key from artifacts.artifacts
    where state = 'committed' and ended_at is null group by agent_id, key having count(*) > 1`;
  assert.deepEqual([...twice], []);
}
