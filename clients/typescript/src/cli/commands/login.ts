import { AgentFiles } from "../../agent_files.ts";
import { AgentError } from "../../http/agent_error.ts";
import { defineVerb, type Verb } from "../verb.ts";
import { UsageError } from "../command/usage_error.ts";
import { NotLoggedInError } from "../exit_codes.ts";
import { loginFile, writeLogin } from "../login_file.ts";
import { note } from "../terminal/output.ts";
import { readSecret } from "../terminal/read_secret.ts";

export const login: Verb = defineVerb({
  summary:
    "Store the service's URL and the agent key on this machine. Asks for the agent key, or " +
    "reads it from standard input.",
  positionals: {
    usage: "",
    least: 0,
    most: 0,
    wrong:
      "Do not pass the agent key as an argument: it is read from the terminal or standard input.",
  },
  example: "agentfiles login --url https://<ref>.supabase.co < key.txt",
  options: {
    url: {
      type: "string",
      value: "URL",
      help: "the project's origin, such as https://<ref>.supabase.co; required",
    },
    agent: {
      type: "string",
      value: "AGENT",
      help: "the agent's identifier, if the agent key does not tell it",
    },
  },
  async run({ values }, context) {
    if (values.url === undefined || !URL.canParse(values.url)) {
      throw new UsageError("Give the service's address with --url.");
    }
    const url = new URL(values.url).origin;
    const key = await readSecret("Agent key: ");
    if (key === "") throw new NotLoggedInError("The agent key is empty.");
    const agentId = values.agent;
    const files = new AgentFiles({
      ...{ url, key, agentId, retrySeconds: 10 },
      ...await context.network(),
    });
    const known = await check(files);
    await writeLogin({ url, key, ...(agentId !== undefined && { agentId }) });
    note(`Written to ${loginFile()}`);
    await context.output.value(
      { url, agent_id: agentId ?? known },
      ({ agent_id }) => `Logged in at ${url}${agent_id ? ` as ${agent_id}` : ""}.`,
    );
  },
});

/** Checks the agent key. A deployment older than /whoami is asked for a file instead. */
async function check(files: AgentFiles): Promise<string | null> {
  try {
    return (await files.whoami()).agent_id;
  } catch (error) {
    if (!(error instanceof AgentError) || error.code !== "not_found") throw error;
  }
  for await (const _ of files.list({ prefix: "" })) break;
  return null;
}
