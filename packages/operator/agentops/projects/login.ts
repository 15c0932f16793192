import { CommandError } from "../../../command/command_error.ts";
import { note } from "../../../command/terminal/output.ts";
import { readSecret } from "../../../command/terminal/read_secret.ts";
import { UsageError } from "../../../command/usage_error.ts";
import { defineOperation, type Operation } from "../../command.ts";
import { chosenProject } from "../../connection/connection.ts";
import { projectFile, storeProject } from "../../connection/project_file.ts";
import { postRpc } from "../../connection/rpc.ts";

export const login: Operation = defineOperation({
  summary:
    "Store a deployment's URL and secret key on this machine, under a name. Asks for the secret " +
    "key, or reads it from standard input.",
  positionals: {
    usage: "",
    least: 0,
    most: 0,
    wrong:
      "Do not pass the secret key as an argument: it is read from the terminal or standard input.",
  },
  example: "agentops login --project staging --url https://<ref>.supabase.co",
  options: {
    url: {
      type: "string",
      value: "URL",
      help: "the project's origin, such as https://<ref>.supabase.co; required",
    },
  },
  async run({ values }, output) {
    const name = chosenProject();
    if (name === null) throw new UsageError("Give the deployment a name with --project.");
    if (values.url === undefined || !/^https?:\/\//.test(values.url) || !URL.canParse(values.url)) {
      throw new UsageError("Give the deployment's address with --url.");
    }
    const { origin: url } = new URL(values.url);
    const secretKey = await readSecret("Secret key: ");
    if (secretKey === "") throw new CommandError("The secret key is empty.");
    await assertAccepted(url, secretKey);
    await storeProject(name, { url, secretKey });
    note(`Written to ${projectFile()}`);
    await output.value({ project: name, url }, () => `${name} is ${url}.`);
  },
});

/** Throws CommandError if the deployment does not accept the secret key. */
async function assertAccepted(url: string, secretKey: string): Promise<void> {
  const connection = { SUPABASE_URL: url, SUPABASE_SECRET_KEY: secretKey };
  const response = await postRpc(connection, "describe_schema", {}).catch((cause) => {
    if (cause instanceof CommandError) throw cause;
    throw new CommandError(`${url} does not answer: is the address right?`, { cause });
  });
  await response.body?.cancel();
  // A key that only is publishable is answered 401, too: it may not call the function.
  if ([401, 403].includes(response.status)) {
    throw new CommandError(
      `${url} does not accept this secret key (HTTP ${response.status}). Nothing was stored.`,
    );
  }
}
