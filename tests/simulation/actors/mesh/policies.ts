import { CREW } from "../../known/tasks.ts";
import { type Policy, POLICY_TAGS, STAYING } from "../../known/mesh/policies.ts";
import type { Move } from "../../registry.ts";
import type { Turn } from "../../turn.ts";
import { call } from "../operator_calls.ts";
import { handIn } from "../owner.ts";

/** The agents' own rules have other ones. */
const PORTS = [443, 5432];
/** Also somebody whom nobody knows. */
const NAMES = [...POLICY_TAGS, ...STAYING, "nobody"];
const MOST_STEPS = 20;

function somePolicy(turn: Turn): Policy {
  const { random } = turn;
  return Array.from({ length: random.pick([0, 1, 2, 2]) }, () => ({
    from: random.pick(NAMES),
    to: random.pick(NAMES),
    port: random.pick(PORTS),
  }));
}

/** Applies a policy in steps, as `agentops` does. A step that was not answered is repeated. */
async function apply(turn: Turn, policy: object, max_changes: number): Promise<boolean> {
  const plan = await call<{ fingerprint: string }>(turn, "plan_policy", { policy });
  if (plan.answer === null) return false;
  const { fingerprint: expect } = plan.answer;
  for (let step = 0; step < MOST_STEPS; step++) {
    const parameters = { policy, expect, max_changes };
    const { answer } = await call<{ remaining: number }>(turn, "apply_policy", parameters);
    if (answer?.remaining === 0) return true;
  }
  return false;
}

async function applyAtOnce(turn: Turn, policy: Policy, times: number): Promise<void> {
  const { known } = turn;
  known.policies.isUsed = true;
  const rules = policy.map(({ from, to, port }) => ({
    from: [from],
    to: [to],
    ports: [port],
    proto: "tcp",
  }));
  // Replayed after a restore, so it is a policy as a file has it.
  const argument = { source: `// Step ${turn.step}\n${JSON.stringify({ rules })}`, rules };
  const steps = turn.random.pick([1, 5000]);
  await Promise.all(Array.from({ length: times }, async () => {
    const write = known.policies.policy.begin(policy, known.nextPlace());
    if (await apply(turn, argument, steps)) known.policies.policy.finish(write, known.nextPlace());
  }));
}

async function setQuota(turn: Turn, agent_id: string, quota_bytes: number | null): Promise<void> {
  const written = turn.known.policies.quotaOf(agent_id);
  const write = written.begin(quota_bytes, turn.known.nextPlace());
  const { answer, end } = await call(turn, "set_agent_quota", { agent_id, quota_bytes });
  if (answer !== null) written.finish(write, end);
}

export const POLICY_MOVES: readonly Move[] = [
  {
    name: "operator applies a policy",
    weight: 4,
    async play(turn) {
      const policy = somePolicy(turn);
      const times = turn.random.pick([1, 1, 2]);
      const words = policy.map(({ from, to, port }) => `${from} to ${to}:${port}`).join(", ");
      turn.say(`operator applies, ${times} at once: ${words || "an empty policy"}`);
      await applyAtOnce(turn, policy, times);
    },
  },
  {
    name: "operator sets an agent's tags",
    weight: 4,
    async play(turn) {
      const agent_id = turn.random.pick([...STAYING]);
      const own = POLICY_TAGS.filter(() => turn.random.isOneIn(2));
      turn.say(`operator tags ${agent_id} with ${own.join(" and ") || "nothing of its own"}`);
      const written = turn.known.policies.tagsOf(agent_id);
      const write = written.begin(own, turn.known.nextPlace());
      const tags = [...own, ...(agent_id === "ann" ? [] : [CREW])];
      const { answer, end } = await call(turn, "set_agent_tags", { agent_id, tags });
      if (answer !== null) written.finish(write, end);
    },
  },
  {
    name: "somebody revokes a rule of the policy",
    weight: 2,
    async play(turn) {
      const rule = turn.pick([...turn.known.policies.rules(false)].map((name) => ({ name })));
      const [, from_agent, to_agent, port] = /^(\w+) > (\w+):(\d+)$/.exec(rule?.name ?? "") ?? [];
      if (from_agent === undefined || to_agent === undefined) return;
      turn.say(`somebody revokes ${rule!.name}`);
      const by = turn.known.agents.find(({ name }) => name === from_agent) ?? "operator";
      const request = { from_agent, to_agent, port: Number(port), proto: "tcp" };
      await turn.ask("/agent-mesh/acl/revoke", by, request);
    },
  },
  {
    name: "operator sets an agent's quota",
    weight: 2,
    async play(turn) {
      const chosen = turn.random.pick([...STAYING]);
      const owner = turn.known.agents.find(({ name }) => name === chosen)!;
      const quota = turn.random.pick([30, 60, 120, null]);
      turn.say(`operator lets ${owner.name} have ${quota ?? "any number of"} bytes`);
      await setQuota(turn, owner.name, quota);
      for (let count = turn.random.below(3); count > 0; count--) await handIn(turn, owner);
    },
  },
];
