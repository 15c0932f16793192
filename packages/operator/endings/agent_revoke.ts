import { CommandError } from "../../command/command_error.ts";
import { defineOperation, type Operation } from "../command.ts";
import { callAsOperator } from "../operator_call.ts";
import type { DescribedAgent } from "../reads/rows.ts";
import { confirm, DELETION_OPTIONS, inCounts } from "./confirmation.ts";

/** The form of every key id. Any other text may name an agent, even `key_x`. */
const KEY_ID = /^key_[0-9a-f]{32}$/;

/** The agent keys that a call would end. */
interface Doomed {
  readonly agent_id: string;
  readonly key_id: string | null;
  readonly live_agent_keys: number;
  /** Expired agent keys, which are refused already. They are revoked with the others. */
  readonly expired_agent_keys: number;
  /** How many live agent keys the agent keeps. */
  readonly others: number;
}

const NO_KEY = "Nothing was revoked: no live agent key has this key_id.";
const NO_AGENT = "Nothing was revoked: this agent has no live agent key.";

/** Throws CommandError, also if there is nothing to revoke: a mistyped name must show. */
async function findDoomed(target: string): Promise<Doomed> {
  const key_id = KEY_ID.test(target) ? target : null;
  const agent_id = key_id === null
    ? target
    : await callAsOperator("find_agent_of_key", { key_id }) as string | null;
  const agent = agent_id === null
    ? null
    : await callAsOperator("read_agent", { agent_id }) as DescribedAgent | null;
  if (key_id === null) {
    if (agent === null || agent.live_keys + agent.expired_keys === 0) {
      throw new CommandError(NO_AGENT);
    }
    const [live_agent_keys, expired_agent_keys] = [agent.live_keys, agent.expired_keys];
    return { agent_id: target, key_id, live_agent_keys, expired_agent_keys, others: 0 };
  }
  // The list has at most a hundred keys: one that is missing from it may be live.
  const state = agent?.keys.find((key) => key.key_id === key_id)?.state ?? "live";
  if (agent === null || state === "revoked") throw new CommandError(NO_KEY);
  const live = state === "live" ? 1 : 0;
  return {
    agent_id: agent.agent_id,
    key_id,
    others: agent.live_keys - live,
    live_agent_keys: live,
    expired_agent_keys: 1 - live,
  };
}

export const agentRevoke: Operation = defineOperation({
  summary: "End one agent key, or every agent key of an agent.",
  positionals: {
    usage: "<agent_id | key_id>",
    least: 1,
    most: 1,
    wrong: "Name one agent, or the key_id of one agent key.",
  },
  example: "agentops agent revoke planner",
  options: DELETION_OPTIONS,
  async run({ positionals: [target], values }, output) {
    const { agent_id, key_id, others, ...counts } = await findDoomed(target!);
    const what = `${inCounts(counts)} of ${agent_id}, which keeps ${others} live ones`;
    if (values["dry-run"]) {
      return await output.value(
        { agent_id, key_id, would_end: counts, others },
        () => `Would end: ${what}. Nothing was changed.`,
      );
    }
    await confirm(`This ends ${what}.`, values);
    const result = key_id === null
      ? await callAsOperator("revoke_agent_keys", { agent_id })
      : await callAsOperator("revoke_agent_key", { key_id });
    // Somebody else revoked them meanwhile.
    if ((result as { revoked: number }).revoked === 0) {
      throw new CommandError(key_id === null ? NO_AGENT : NO_KEY);
    }
    await output.value(result, JSON.stringify);
  },
});
