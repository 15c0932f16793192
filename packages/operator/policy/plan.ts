import { note } from "../../command/terminal/output.ts";
import { instantCell } from "../output/cells.ts";
import { callAsOperator, RefusedCall } from "../operator_call.ts";
import type { Policy } from "./policy_file.ts";
import { agentsInTests, runTests, type TagsOfAgents, type TestResult } from "./policy_tests.ts";

/** The answer of `plan_policy`. The SQL function's comment says what each field means. */
export interface Plan {
  readonly fingerprint: string;
  readonly in_force: {
    readonly fingerprint: string;
    readonly applied_at: string;
    readonly finished: boolean;
    readonly rules: number;
  } | null;
  readonly tags: TagsOfAgents;
  readonly rules: { readonly added: number; readonly removed: number };
  readonly gained: Counts;
  readonly lost: Counts;
  readonly changed_agents: number;
  readonly gained_rules: readonly PlannedRule[];
  readonly lost_rules: readonly PlannedRule[];
  readonly gained_pairs: readonly (readonly [string, string])[];
  readonly lost_pairs: readonly (readonly [string, string])[];
  readonly agents: readonly string[];
}

interface Counts {
  readonly rules: number;
  readonly pairs: number;
}

interface PlannedRule {
  readonly from_agent: string;
  readonly to_agent: string;
  readonly port: number;
  readonly proto: string;
}

/** A policy as the SQL functions take it. */
export function asArgument(policy: Policy) {
  return { source: policy.source, rules: policy.rules, agents: agentsInTests(policy) };
}

/**
 * Computes what a policy would change, and runs its tests on the same state. Throws CommandError.
 */
export async function planPolicy(
  policy: Policy,
  mostEntries: number,
): Promise<{ plan: Plan; tests: TestResult[] }> {
  const plan = await callAsOperator("plan_policy", {
    policy: asArgument(policy),
    max_entries: mostEntries,
  }) as Plan;
  return { plan, tests: runTests(policy, plan.tags) };
}

interface Applied {
  readonly fingerprint: string;
  readonly added: number;
  readonly removed: number;
  readonly remaining: number;
}

/** How many changes a step makes at most, unless that takes longer than a statement may. */
const CHANGES_PER_STEP = 5000;
/** PostgreSQL's query_canceled: here, the statement has reached the project's statement_timeout. */
const QUERY_CANCELED = "57014";

/**
 * Applies a policy, step by step, until nothing remains. A step whose statement takes too long has
 * changed nothing, and is repeated at half the size. Throws CommandError.
 */
export async function applyWhole(
  policy: Policy,
  expect: string,
): Promise<Omit<Applied, "remaining">> {
  const sums = { fingerprint: expect, added: 0, removed: 0 };
  for (let max_changes = CHANGES_PER_STEP;;) {
    let step: Applied;
    try {
      const parameters = { policy: asArgument(policy), expect, max_changes };
      step = await callAsOperator("apply_policy", parameters) as Applied;
    } catch (error) {
      const isTooLong = error instanceof RefusedCall && error.sqlState === QUERY_CANCELED;
      if (!isTooLong || max_changes === 1) throw error;
      max_changes = Math.floor(max_changes / 2);
      note(`The statement took too long. Going on with ${max_changes} changes at a time.`);
      continue;
    }
    sums.added += step.added;
    sums.removed += step.removed;
    if (step.remaining === 0) return sums;
    note(`${sums.removed} rules removed, ${sums.added} added, ${step.remaining} changes remain.`);
  }
}

/** What agents gain and lose, in a line: `gains 3 rules and 1 pair of peers, loses …`. */
export function summaryOf({ gained, lost, changed_agents }: Plan): string {
  return `The project gains ${counted(gained)} and loses ${counted(lost)}. ` +
    `Configurations that change: ${changed_agents}.`;
}

/** The whole plan, for a person to read. */
export function describePlan(plan: Plan, tests: readonly TestResult[]): string {
  const { in_force, rules, gained, lost } = plan;
  return [
    in_force === null
      ? "No policy is in force."
      : `The policy in force has ${in_force.rules} rules, ` +
        `applied at ${instantCell(in_force.applied_at)}${
          in_force.finished ? "" : ", not finished"
        }.`,
    `Rules of the policy: ${rules.added} added, ${rules.removed} removed.`,
    summaryOf(plan),
    ...listed("+", plan.gained_rules.map(ruleInWords), gained.rules),
    ...listed("-", plan.lost_rules.map(ruleInWords), lost.rules),
    ...listed("+", plan.gained_pairs.map(pairInWords), gained.pairs),
    ...listed("-", plan.lost_pairs.map(pairInWords), lost.pairs),
    ...listed("~", plan.agents.map((agent) => `configuration of ${agent}`), plan.changed_agents),
    `${tests.length} tests passed.`,
    `Fingerprint: ${plan.fingerprint}`,
  ].join("\n");
}

function counted({ rules, pairs }: Counts): string {
  return `${rules} rules and ${pairs} pairs of peers`;
}

function listed(mark: string, lines: readonly string[], count: number): string[] {
  const more = count - lines.length;
  return [
    ...lines.map((line) => `${mark} ${line}`),
    ...more > 0 ? [`${mark} and ${more} more: --limit shows more of them`] : [],
  ];
}

function ruleInWords({ from_agent, to_agent, port, proto }: PlannedRule): string {
  return `${from_agent} → ${to_agent} ${proto} ${port}`;
}

function pairInWords([one, other]: readonly [string, string]): string {
  return `${one} and ${other} see each other`;
}
