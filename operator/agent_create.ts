import { note, type Output } from "../clients/typescript/src/cli/terminal/output.ts";
import { CommandError } from "../local/command/command_error.ts";
import { runOperatorCommand } from "./operator_command.ts";
import { type KeyRequest, readExpiry, readKeyRequests } from "./key_requests.ts";
import { type MadeKey, makeKeys } from "./many_keys.ts";
import { callAsOperator } from "./operator_call.ts";

/** Prints the key alone on standard output, and what to know on standard error. */
async function createAgentKey(request: KeyRequest, output: Output): Promise<void> {
  const created = await callAsOperator("create_agent_key", { ...request }) as MadeKey;
  await output.value(created, ({ key }) => key);
  note(
    `Key ${created.key_id} of ${request.agent_id}. It is not shown again; revoke it with: deno task agent:revoke ${created.key_id}`,
  );
}

await runOperatorCommand({
  task: "agent:create",
  summary: "Make a key for an agent, or keys for many, and print them. They are not shown again.",
  usage: "<agent_id> | --file FILE [--label TEXT] [--expires-at TIMESTAMP]",
  help: {
    file: "one agent a line, and behind a space a label; -: standard input",
    label: "what the key is for",
    "expires-at": "when it ends, such as 2027-01-31T09:30:00Z; default: never",
  },
  example: "deno task agent:create planner --label 'build server'",
  options: {
    file: { type: "string" },
    label: { type: "string" },
    "expires-at": { type: "string" },
  },
  positionals: { least: 0, most: 1 },
  async run({ positionals: [agentId], values }, output) {
    const defaults = { label: values.label ?? null, expires_at: readExpiry(values["expires-at"]) };
    if ((agentId === undefined) === (values.file === undefined)) {
      throw new CommandError("Name one agent, or a file of agents. --help shows how.");
    }
    if (agentId !== undefined) {
      return await createAgentKey({ agent_id: agentId, ...defaults }, output);
    }
    const requests = await readKeyRequests(values.file!, defaults);
    await output.rows(makeKeys(requests), {
      heads: ["AGENT", "KEY ID", "KEY"],
      cells: ({ agent_id, key_id, key }) => [agent_id, key_id, key],
      // Each is shown as soon as it is made.
      isEndless: true,
    });
  },
});
