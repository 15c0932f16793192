import { CommandError } from "../../command/command_error.ts";
import type { Policy } from "./policy_file.ts";
import type { PolicyRule, PolicyTest } from "./schema.ts";

/** The tags of agents. An agent that is missing here has none. */
export type TagsOfAgents = Readonly<Record<string, readonly string[]>>;

export interface TestResult extends PolicyTest {
  readonly passed: boolean;
}

/** The agents whose tags the tests depend on, in the order of the tests. */
export function agentsInTests({ tests }: Policy): string[] {
  const names = tests.flatMap(({ from, to }) => [from, to]).filter((name) => !isTag(name));
  return Array.from(new Set(names));
}

/**
 * The result of each test of a policy. A tag stands for an agent that has this tag and no other.
 * Rules that agents have agreed on themselves do not count.
 */
export function runTests({ rules, tests }: Policy, tags: TagsOfAgents): TestResult[] {
  return tests.map((test) => {
    const [from, to] = [test.from, test.to].map((name) => namesOf(name, tags));
    const isAccepted = rules.some((rule) => allows(rule, test, { from: from!, to: to! }));
    return { ...test, passed: isAccepted === (test.expect === "accept") };
  });
}

/** Throws CommandError if a test has failed. */
export function refuseFailed(results: readonly TestResult[]): void {
  const failed = results.filter(({ passed }) => !passed);
  if (failed.length === 0) return;
  throw new CommandError(
    `${failed.length} of ${results.length} tests failed: ${failed.map(inWords).join("; ")}.`,
  );
}

/** `planner → builder tcp 443 must be denied`. */
export function inWords({ from, to, port, proto, expect }: PolicyTest): string {
  const wanted = expect === "accept" ? "accepted" : "denied";
  return `${from} → ${to} ${proto} ${port} must be ${wanted}`;
}

function allows(
  rule: PolicyRule,
  { port, proto }: PolicyTest,
  { from, to }: { readonly from: readonly string[]; readonly to: readonly string[] },
): boolean {
  return rule.proto === proto && rule.ports.includes(port) &&
    rule.from.some((name) => from.includes(name)) && rule.to.some((name) => to.includes(name));
}

/** Everything in a rule that matches this agent, or an agent with this tag. */
function namesOf(name: string, tags: TagsOfAgents): readonly string[] {
  return isTag(name) ? [name] : [name, ...Object.hasOwn(tags, name) ? tags[name]! : []];
}

function isTag(name: string): boolean {
  return name.startsWith("tag:");
}
