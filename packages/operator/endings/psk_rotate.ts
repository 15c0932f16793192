import { UsageError } from "../../command/usage_error.ts";
import { note } from "../../command/terminal/output.ts";
import { reasonOf } from "../../command/command_error.ts";
import { defineOperation, type Operation } from "../command.ts";
import { callFunctionAsOperator } from "../function_call.ts";
import { rowsOf } from "../pages.ts";
import { assertAgentIsNamed } from "../reads/known_agent.ts";
import type { RuleRow } from "../reads/rows.ts";

type Pair = readonly [string, string];

/** The pairs of agents that share an active rule, each once. */
async function findPairs(agent_id: string | null): Promise<Pair[]> {
  const pairs = new Map<string, Pair>();
  for await (const rule of rowsOf<RuleRow>("list_mesh_rules", { parameters: { agent_id } })) {
    if (!rule.active) continue;
    const [a, b] = [rule.from_agent, rule.to_agent].sort() as [string, string];
    pairs.set(`${a} ${b}`, [a, b]);
  }
  return Array.from(pairs.values());
}

export const pskRotate: Operation = defineOperation({
  summary: "Give pairs of agents new PSKs: all, those of one agent, or one pair.",
  positionals: { usage: "[<agent_id> [<agent_id>]]", least: 0, most: 2, wrong: "Name two agents." },
  example: "agentops psk rotate --all",
  options: {
    all: { type: "boolean", help: "of every pair that shares an active rule" },
    "dry-run": { type: "boolean", help: "show how many, and change nothing" },
  },
  async run({ positionals: [one, other], values }, output) {
    if ((one === undefined) !== (values.all === true)) {
      throw new UsageError("Name one agent or two, or give --all.");
    }
    await assertAgentIsNamed(one, other);
    const pairs = other !== undefined ? [[one!, other] as const] : await findPairs(one ?? null);
    if (values["dry-run"]) {
      return await output.value(
        { would_rotate: pairs.length },
        () => `Would rotate ${pairs.length} PSKs. Nothing was changed.`,
      );
    }
    let [rotated, failed] = [0, 0];
    for (const [a, b] of pairs) {
      try {
        await callFunctionAsOperator("/agent-mesh/psk/rotate", { a, b });
        rotated++;
      } catch (cause) {
        failed++;
        note(`${a} and ${b}: ${reasonOf(cause)}`);
      }
    }
    await output.value({ rotated, failed }, () => `Rotated ${rotated} PSKs; ${failed} were not.`);
    return failed > 0 ? 1 : 0;
  },
});
