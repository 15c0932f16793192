import { callAsOperator } from "../../operator_call.ts";
import type { DescribedAgent } from "../../reads/rows.ts";
import { type Action, counted, InputError } from "./action.ts";
import { readKnownAgent } from "./agent.ts";

/** `read_agent` counts grants up to this. */
const COUNTED_GRANTS = 1_000;

/** What one call of `remove_agent` ended. */
interface Removal {
  readonly keys: number;
  readonly peer: boolean;
  readonly grants: number;
  readonly artifacts: number;
  readonly remaining: boolean;
}

/** Ends everything that belongs to an agent, once the person has typed the agent's name. */
export const removeAgent: Action = {
  takes: ["agent_id"],
  async plan({ agent_id = "" }) {
    return {
      title: `Remove ${agent_id}`,
      effects: effectsOn(await readKnownAgent(agent_id)),
      undo: "It cannot be undone.",
      verb: `Remove ${agent_id}`,
      isDangerous: true,
      inputs: [
        {
          name: "keep_artifacts",
          label: "Its files",
          choices: [["no", "Delete them"], ["yes", "Keep them until they expire"]],
        },
        { name: "typed_name", label: "Type the agent's name", hint: agent_id },
      ],
    };
  },
  async run({ agent_id = "" }, { typed_name, keep_artifacts }) {
    if (typed_name?.trim() !== agent_id) {
      throw new InputError(`The name that you typed is not ${agent_id}.`);
    }
    if (keep_artifacts !== "yes" && keep_artifacts !== "no") {
      throw new InputError("Choose what happens to its files.");
    }
    const ended = { keys: 0, peers: 0, grants: 0, artifacts: 0 };
    let removal: Removal;
    do {
      removal = await callAsOperator("remove_agent", {
        agent_id,
        keep_artifacts: keep_artifacts === "yes",
      }) as Removal;
      ended.keys += removal.keys;
      ended.peers += removal.peer ? 1 : 0;
      ended.grants += removal.grants;
      ended.artifacts += removal.artifacts;
    } while (removal.remaining);
    return {
      done: [
        `${agent_id} is removed: ${counted(ended.keys, "agent key")}, ${
          counted(ended.grants, "grant")
        }, ${counted(ended.artifacts, "file")} and ${counted(ended.peers, "peer")} ended.`,
        "Users whose token names this agent are refused from now on.",
      ],
    };
  },
};

function effectsOn(agent: DescribedAgent): string[] {
  const grants = agent.grants_given + agent.grants_received;
  const atLeast = Math.max(agent.grants_given, agent.grants_received) >= COUNTED_GRANTS;
  const { peer } = agent;
  return [
    `${counted(agent.live_keys, "live agent key")} revoked.`,
    `${counted(agent.artifacts, "committed file")} deleted unless you keep them, and ${
      counted(agent.pending, "upload")
    } that ${agent.pending === 1 ? "is" : "are"} not committed.`,
    `${atLeast ? "At least " : ""}${
      counted(grants, "live grant")
    } ended: ${agent.grants_given} that it gave, ${agent.grants_received} to it.`,
    peer === null
      ? "It has no peer. Rules that name it end."
      : `Its peer is deleted, with ${counted(peer.active_rules, "active rule")} and ${
        counted(peer.requests, "request")
      }.`,
  ];
}
