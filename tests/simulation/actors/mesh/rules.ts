import type { Agent } from "../../known/known.ts";
import { ruleName } from "../../known/mesh/mesh.ts";
import type { Turn } from "../../turn.ts";

/** Those of the agents' own rules. The policy's are others. */
const PORTS = [22, 8080];

export interface SomeRule {
  readonly from_agent: string;
  readonly to_agent: string;
  readonly port: number;
  readonly proto: "tcp";
}

export function someRule(turn: Turn, from: Agent, to: Agent): SomeRule {
  const port = turn.random.pick(PORTS);
  return { from_agent: from.name, to_agent: to.name, port, proto: "tcp" };
}

function writtenRule({ known }: Turn, { from_agent, to_agent, port }: SomeRule) {
  return known.mesh.ruleOf(ruleName(from_agent, to_agent, port));
}

/** The operator agrees for both, or each agent for itself. */
export async function agree(
  turn: Turn,
  rule: SomeRule,
  by: readonly (Agent | "operator")[],
): Promise<void> {
  const written = writtenRule(turn, rule);
  const write = written.begin(true, turn.known.nextPlace());
  for (const one of by) {
    const entry = await turn.ask("/agent-mesh/acl/put", one, { ...rule });
    if (entry.status === 200 && entry.answer!["active"] === true) written.finish(write, entry.end);
  }
}

export async function revoke(turn: Turn, rule: SomeRule, by: Agent | "operator"): Promise<void> {
  const written = writtenRule(turn, rule);
  const write = written.begin(false, turn.known.nextPlace());
  written.settle(write, await turn.ask("/agent-mesh/acl/revoke", by, { ...rule }));
}
