import { UsageError } from "../command/usage_error.ts";
import { defineOperation, type Operation } from "./command.ts";
import { confirm, DELETION_OPTIONS, inCounts } from "./endings/confirmation.ts";
import { callAsOperator } from "./operator_call.ts";
import { noteUnlessNamed, nothingNames } from "./reads/known_agent.ts";
import type { DescribedAgent } from "./reads/rows.ts";

/** What an agent would lose with its tags. */
interface Losses {
  readonly tags: readonly string[];
  /** The number of rules of the policy. */
  readonly rules: number;
  /** The number of live grants to these tags, up to 10,000. */
  readonly grants: number;
}

/** The agent's tags. Throws CommandError if nothing names the agent. */
async function readTags(agent_id: string): Promise<readonly string[]> {
  const agent = await callAsOperator("read_agent", { agent_id }) as DescribedAgent | null;
  if (agent === null) throw nothingNames(agent_id);
  return agent.tags;
}

function inWords({ tags, rules, grants }: Losses, agentId: string): string {
  const lost = tags.length === 0 ? "no tags" : tags.join(", ");
  return `${lost} from ${agentId}: it loses ${inCounts({ rules, grants })}`;
}

export const agentTag: Operation = defineOperation({
  summary: "Replace an agent's tags by these; without tags, show them.",
  positionals: {
    usage: "<agent_id> [<tag>…]",
    least: 1,
    most: 33,
    wrong: "Name one agent, and at most 32 tags.",
  },
  example: "agentops agent tag planner tag:planner tag:eu",
  options: {
    none: { type: "boolean", help: "take all tags away" },
    ...DELETION_OPTIONS,
  },
  async run({ positionals: [agentId, ...wanted], values }, output) {
    const agent_id = agentId!;
    if (values.none === true && wanted.length > 0) {
      throw new UsageError("Give tags or --none, not both.");
    }
    const show = (tags: readonly string[]) =>
      output.value(
        { agent_id, tags },
        () => tags.length === 0 ? `${agent_id} has no tags.` : `${agent_id}: ${tags.join(", ")}`,
      );
    if (wanted.length === 0 && values.none !== true) return await show(await readTags(agent_id));
    const change = { agent_id, tags: wanted };
    const losses = await callAsOperator("count_tag_losses", change) as Losses;
    const what = inWords(losses, agent_id);
    if (values["dry-run"]) {
      return await output.value(
        { agent_id, would_end: losses },
        () => `Would take ${what}. Nothing was changed.`,
      );
    }
    if (losses.tags.length > 0) await confirm(`This takes ${what}.`, values);
    await noteUnlessNamed(agent_id);
    const set = await callAsOperator("set_agent_tags", change) as typeof change;
    await show(set.tags);
  },
});
