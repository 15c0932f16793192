import { CommandError } from "../../command/command_error.ts";
import { callAsOperator } from "../operator_call.ts";
import { eraseAgent } from "../endings/erasing.ts";
import { inCounts } from "../endings/confirmation.ts";
import type { DescribedAgent } from "../reads/rows.ts";
import { firstNameOf } from "./erased_names.ts";
import { listed, named, nothing, OPERATOR, type Replay, replayed, UnusableLine } from "./ending.ts";

interface Removal {
  readonly keys: number;
  readonly peer: boolean;
  readonly grants: number;
  readonly artifacts: number;
  readonly remaining: boolean;
}

const removeAgent: Replay = async (event) => {
  const agent_id = named(event, "agent_id");
  const keep_artifacts = event["keep_artifacts"] === true;
  const ended = { agent_keys: 0, peer: 0, grants: 0, files: 0 };
  let removal: Removal;
  do {
    removal = await callAsOperator("remove_agent", { agent_id, keep_artifacts }) as Removal;
    ended.agent_keys += removal.keys;
    ended.peer += removal.peer ? 1 : 0;
    ended.grants += removal.grants;
    ended.files += removal.artifacts;
  } while (removal.remaining);
  return replayed(`removed ${agent_id}: ${inCounts(ended)}`);
};

/** The former holder had the name again. Nobody can come in from the first call on. */
const takeOver: Replay = async (event) => {
  const agent_id = named(event, "agent_id");
  const ended = { agent_keys: 0, peer: 0, grants: 0, files: 0 };
  let taken: Removal;
  do {
    taken = await callAsOperator("take_over_agent", { agent_id }) as Removal;
    ended.agent_keys += taken.keys;
    ended.peer += taken.peer ? 1 : 0;
    ended.grants += taken.grants;
    ended.files += taken.artifacts;
  } while (taken.remaining);
  // In a backup from before the former holder, the name is free, and the holder could come again.
  await callAsOperator("share_agent", { agent_id, way: "operator" });
  return replayed(`took ${agent_id} over from its former holder: ${inCounts(ended)}`);
};

/** An enrolment takes the place of an earlier one, which would have the name again. */
const share: Replay = async (event) => {
  const [agent_id, way] = [named(event, "agent_id"), named(event, "way")];
  await callAsOperator("share_agent", { agent_id, way });
  return replayed(`shared ${agent_id} with ${way}`);
};

const readmitAgent: Replay = async (event) => {
  const agent_id = named(event, "agent_id");
  const { readmitted } = await callAsOperator("readmit_agent", { agent_id }) as {
    readonly readmitted: boolean;
  };
  return readmitted ? replayed(`readmitted ${agent_id}`) : nothing(`${agent_id} is not removed`);
};

const leave: Replay = async (event) => {
  const agent_id = named(event, "agent_id");
  await callAsOperator("leave", { caller: OPERATOR, agent_id });
  return replayed(`${agent_id} has left: its agent keys, its peer and its rules have ended`);
};

/** The record has no name of an erased agent, only a keyed hash of it. */
const eraseName: Replay = async (event) => {
  const name_hash = named(event, "name_hash");
  const agent_id = await firstNameOf(name_hash);
  if (agent_id === null) {
    const { kept_out } = await callAsOperator("keep_out_erased", { name_hash }) as {
      readonly kept_out: boolean;
    };
    return kept_out
      ? replayed("an erased agent, which nothing names, stays out again")
      : nothing("nothing names the erased agent, and it stays out");
  }
  const { pseudonym, complete } = await eraseAgent(agent_id);
  if (!complete) {
    throw new CommandError(`the erasure is not complete: agentops agent erase ${agent_id}`);
  }
  return replayed(`erased an agent: records that had to stay name ${pseudonym}`);
};

const setQuota: Replay = async (event) => {
  const agent_id = named(event, "agent_id");
  const { quota_bytes } = event;
  if (quota_bytes !== null && typeof quota_bytes !== "number") {
    throw new UnusableLine("agent.limited without quota_bytes");
  }
  await callAsOperator("set_agent_quota", { agent_id, quota_bytes });
  return replayed(`quota of ${agent_id}: ${quota_bytes ?? "the project's"}`);
};

/**
 * Tags that an enrolment gave come back with the agent's next enrolment: only those that the
 * operator gave are given again. Whoever took a tag away, it goes.
 */
const setTags: Replay = async (event) => {
  const agent_id = named(event, "agent_id");
  const agent = await callAsOperator("read_agent", { agent_id }) as DescribedAgent | null;
  const before = agent?.tags ?? [];
  const gone = listed(event, "removed");
  const given = event["actor_kind"] === "operator" ? listed(event, "added") : [];
  const tags = [...new Set([...before, ...given])].filter((tag) => !gone.includes(tag));
  if (tags.length === before.length && tags.every((tag) => before.includes(tag))) {
    return nothing(`${agent_id} has these tags`);
  }
  await callAsOperator("set_agent_tags", { agent_id, tags });
  return replayed(`tags of ${agent_id}: ${tags.join(", ") || "none"}`);
};

/** Endings of agents, by the type of the event that records them. */
export const AGENT_ENDINGS: Readonly<Record<string, Replay>> = {
  "agent.removed": removeAgent,
  "agent.taken_over": takeOver,
  "agent.shared": share,
  "agent.readmitted": readmitAgent,
  "agent.left": leave,
  "name.erased": eraseName,
  "agent.limited": setQuota,
  "agent.tagged": setTags,
};
