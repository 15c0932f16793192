import { UsageError } from "../clients/typescript/src/cli/command/usage_error.ts";
import { runTask } from "../local/command/run_task.ts";
import { callAsOperator } from "./operator_call.ts";
import { noteUnlessNamed, nothingNames } from "./reads/known_agent.ts";
import type { DescribedAgent } from "./reads/rows.ts";

/** The agent's tags. Throws CommandError if nothing names the agent. */
async function readTags(agent_id: string): Promise<readonly string[]> {
  const agent = await callAsOperator("read_agent", { agent_id }) as DescribedAgent | null;
  if (agent === null) throw nothingNames(agent_id);
  return agent.tags;
}

async function setTags(agent_id: string, tags: readonly string[]): Promise<readonly string[]> {
  await noteUnlessNamed(agent_id);
  const set = await callAsOperator("set_agent_tags", { agent_id, tags });
  return (set as { tags: readonly string[] }).tags;
}

await runTask({
  task: "agent:tag",
  summary: "Give an agent these tags, in the place of those it has; without tags, show them.",
  positionals: {
    usage: "<agent_id> [<tag>…]",
    least: 1,
    most: 33,
    wrong: "Name one agent, and at most 32 tags.",
  },
  example: "deno task agent:tag planner tag:planner tag:eu",
  options: {
    none: { type: "boolean", help: "take all tags away" },
  },
  async run({ positionals: [agentId, ...wanted], values }, output) {
    if (values.none === true && wanted.length > 0) {
      throw new UsageError("Give tags or --none, not both.");
    }
    const tags = wanted.length > 0 || values.none === true
      ? await setTags(agentId!, wanted)
      : await readTags(agentId!);
    await output.value(
      { agent_id: agentId!, tags },
      () => tags.length === 0 ? `${agentId} has no tags.` : `${agentId}: ${tags.join(", ")}`,
    );
  },
});
