import { callFunctionAsOperator } from "../../function_call.ts";
import { rowsOf } from "../../pages.ts";
import type { GrantRow } from "../../reads/rows.ts";
import { type Action, counted, type Target } from "./action.ts";
import { readAnyAgent } from "./agent.ts";
import { collect } from "../../reads/collections.ts";

/** How many grants are counted. */
const MOST_GRANTS = 1_000;
const TAKES = ["agent_id", "from_agent"];

/** Hides a sender's grants from an agent's inbox. */
export const blockSender: Action = {
  takes: TAKES,
  async plan(target) {
    const { agent_id = "", from_agent = "" } = target;
    return {
      title: `Block ${from_agent} for ${agent_id}`,
      effects: [
        `${await countGrants(target)} from ${from_agent} leave the inbox of ${agent_id}, and ` +
        "later ones do not appear in it.",
        `The grants stay valid: ${agent_id} can still open a file by its id. ${from_agent} is not told.`,
      ],
      undo: "It can be undone: unblock the sender.",
      verb: "Block the sender",
      isDangerous: true,
    };
  },
  async run(target) {
    const { agent_id, from_agent } = target;
    await callFunctionAsOperator("/agent-artifacts/inbox/block", { agent_id, from_agent });
    return {
      done: [`The inbox of ${agent_id} no longer shows grants from ${from_agent}.`],
      undo: { action: "sender.unblock", target, label: "Undo: unblock the sender" },
    };
  },
};

/** Shows a sender's grants in an agent's inbox again. */
export const unblockSender: Action = {
  takes: TAKES,
  async plan(target) {
    const { agent_id = "", from_agent = "" } = target;
    return {
      title: `Unblock ${from_agent} for ${agent_id}`,
      effects: [
        `${await countGrants(target)} from ${from_agent} appear in the inbox of ${agent_id} again.`,
      ],
      undo: "It can be undone: block the sender again.",
      verb: "Unblock the sender",
    };
  },
  async run(target) {
    const { agent_id, from_agent } = target;
    await callFunctionAsOperator("/agent-artifacts/inbox/unblock", { agent_id, from_agent });
    return {
      done: [`The inbox of ${agent_id} shows grants from ${from_agent} again.`],
      undo: { action: "sender.block", target, label: "Undo: block the sender again" },
    };
  },
};

/** How many live grants the sender has given the agent, in words. Throws CommandError. */
async function countGrants({ agent_id = "", from_agent = "" }: Target): Promise<string> {
  await Promise.all([readAnyAgent(agent_id), readAnyAgent(from_agent)]);
  const grants = await collect(
    rowsOf<GrantRow>("list_all_grants", {
      parameters: { from_agent, to_agent: agent_id },
      limit: MOST_GRANTS,
    }),
  );
  const count = counted(grants.length, "live grant");
  return grants.length === MOST_GRANTS ? `At least ${count}` : count;
}
