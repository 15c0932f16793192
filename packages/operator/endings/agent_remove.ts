import { CommandError } from "../../command/command_error.ts";
import { defineOperation, type Operation } from "../command.ts";
import { confirm, DELETION_OPTIONS, inCounts } from "./confirmation.ts";
import { countMentions } from "./erasing.ts";
import { callAsOperator } from "../operator_call.ts";

/** What one call of `remove_agent` ended. */
interface Removal {
  readonly keys: number;
  readonly peer: boolean;
  readonly grants: number;
  readonly artifacts: number;
  readonly remaining: boolean;
}

/**
 * Removes an agent, in as many calls as that takes. Returns what was ended. If there is nothing
 * to end, it fails: a mistyped name must show.
 */
async function removeAgent(
  agentId: string,
  { keepArtifacts }: { readonly keepArtifacts: boolean },
): Promise<Omit<Removal, "remaining">> {
  const ended = { keys: 0, peer: false, grants: 0, artifacts: 0 };
  let removal: Removal;
  do {
    removal = await callAsOperator("remove_agent", {
      agent_id: agentId,
      keep_artifacts: keepArtifacts,
    }) as Removal;
    ended.keys += removal.keys;
    ended.peer ||= removal.peer;
    ended.grants += removal.grants;
    ended.artifacts += removal.artifacts;
  } while (removal.remaining);
  if (!ended.peer && ended.keys + ended.grants + ended.artifacts === 0) {
    throw new CommandError(
      "Nothing was removed: nothing in the project belongs to this agent_id. Its users' tokens are refused from now on.",
    );
  }
  return ended;
}

export const agentRemove: Operation = defineOperation({
  summary: "End everything of an agent: agent keys, peer, rules, grants, uploads, artifacts.",
  positionals: { usage: "<agent_id>", least: 1, most: 1, wrong: "Name one agent." },
  example: "agentops agent remove planner --keep-artifacts",
  options: {
    "keep-artifacts": { type: "boolean", help: "keep its committed artifacts until they expire" },
    ...DELETION_OPTIONS,
  },
  async run({ positionals: [agentId], values }, output) {
    const keepArtifacts = values["keep-artifacts"] === true;
    const { agent_keys, files, grants, peer, rules } = (await countMentions(agentId!)).mentions;
    const holds = { agent_keys, grants, peer, rules, ...keepArtifacts ? {} : { files } };
    const counts = Object.fromEntries(
      Object.entries(holds).map(([name, count]) => [name, count ?? 0]),
    );
    const what = `${inCounts(counts)} of ${agentId} (some may have ended already)`;
    if (values["dry-run"]) {
      return await output.value(
        { agent_id: agentId!, would_end: counts },
        () => `Would end: ${what}. Nothing was changed.`,
      );
    }
    await confirm(`This ends ${what}.`, values);
    await output.value(await removeAgent(agentId!, { keepArtifacts }), JSON.stringify);
  },
});
