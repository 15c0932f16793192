import { note, type Output } from "../command/terminal/output.ts";
import { UsageError } from "../command/usage_error.ts";
import { CommandError } from "../command/command_error.ts";
import { defineOperation, type Operation } from "./command.ts";
import { type KeyRequest, readExpiry, readKeyRequests } from "./key_requests.ts";
import { type MadeKey, makeKeys } from "./many_keys.ts";
import { readWays, takeOver, waysInWords } from "./names/take_over.ts";
import { callAsOperator, RefusedCall } from "./operator_call.ts";

/** Prints the agent key alone on standard output, and a note about it on standard error. */
async function createAgentKey(
  request: KeyRequest & { readonly share: boolean },
  output: Output,
): Promise<void> {
  const created = await callAsOperator("create_agent_key", { ...request }).catch(
    async (error: unknown) => {
      if (!(error instanceof RefusedCall) || error.code !== "agent_name_taken") throw error;
      const ways = waysInWords(await readWays(request.agent_id));
      throw new CommandError(
        `${request.agent_id} belongs to ${ways}. No agent key was made. With --share, both are this agent. With --take-over, everything that the other one has is ended first.`,
      );
    },
  ) as MadeKey;
  await output.value(created, ({ key }) => key);
  note(
    `Key ${created.key_id} of ${request.agent_id}. It is not shown again; revoke it with: agentops agent revoke ${created.key_id}`,
  );
}

export const agentCreate: Operation = defineOperation({
  summary: "Make an agent key, or one for each of many agents. Each is shown only once.",
  positionals: {
    usage: "[<agent_id>]",
    least: 0,
    most: 1,
    wrong: "Name one agent, or a file of agents.",
  },
  example: "agentops agent create planner --label 'build server'",
  options: {
    file: {
      type: "string",
      value: "FILE",
      help: "instead of one agent: a file with one agent per line, each with an optional label " +
        "after a space; - is standard input",
    },
    label: { type: "string", value: "TEXT", help: "what the agent key is for" },
    "expires-at": {
      type: "string",
      value: "TIMESTAMP",
      help: "when it ends, such as 2027-01-31T09:30:00Z; default: never",
    },
    share: {
      type: "boolean",
      help: "if the name belongs to an enrolment or to users, be the same agent",
    },
    "take-over": {
      type: "boolean",
      help:
        "if the name belongs to an enrolment or to users, end everything that they have under it",
    },
    yes: { type: "boolean", help: "with --take-over: do not ask" },
  },
  async run({ positionals: [agentId], values }, output) {
    const defaults = { label: values.label ?? null, expires_at: readExpiry(values["expires-at"]) };
    if ((agentId === undefined) === (values.file === undefined)) {
      throw new UsageError("Name one agent, or a file of agents.");
    }
    const [share, takesOver] = [values.share === true, values["take-over"] === true];
    if (share && takesOver) throw new UsageError("Give --share or --take-over, not both.");
    if (agentId !== undefined) {
      if (takesOver) await takeOver(agentId, values);
      return await createAgentKey({ agent_id: agentId, share, ...defaults }, output);
    }
    if (share || takesOver) {
      throw new UsageError("--share and --take-over are for one agent, not for a file.");
    }
    const requests = await readKeyRequests(values.file!, defaults);
    await output.rows(makeKeys(requests), {
      heads: ["AGENT", "KEY ID", "KEY"],
      cells: ({ agent_id, key_id, key }) => [agent_id, key_id, key],
      // Show each agent key as soon as it is made.
      isEndless: true,
    });
  },
});
