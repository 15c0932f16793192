import { resolve } from "node:path";
import { AgentFiles } from "../../agent-files/agent_files.ts";
import { AgentError } from "../../agent-files/errors/agent_error.ts";
import type { Options, Values } from "../../command/command.ts";
import { defineVerb, type Verb } from "../verb.ts";
import { UsageError } from "../../command/usage_error.ts";
import { NotLoggedInError } from "../exit_codes.ts";
import { type Login, loginFile, type StoredProof, writeLogin } from "../login_file.ts";
import { note } from "../../command/terminal/output.ts";
import { readSecret } from "../../command/terminal/read_secret.ts";

const OPTIONS = {
  url: {
    type: "string",
    value: "URL",
    help: "the project's origin, such as https://<ref>.supabase.co; required",
  },
  agent: {
    type: "string",
    value: "AGENT",
    help: "the agent's identifier, if neither the agent key nor the enrolment tells it",
  },
  "enrolment-key-file": {
    type: "string",
    value: "FILE",
    help: "get an agent key for the enrolment key in this file",
    completes: "file",
  },
  "token-file": {
    type: "string",
    value: "FILE",
    help: "get an agent key for the platform's token in this file, which is read each time",
    completes: "file",
  },
  github: {
    type: "boolean",
    help: "get an agent key for the token that GitHub Actions gives to a job",
  },
  audience: {
    type: "string",
    value: "AUDIENCE",
    help: "with --github: for whom the token is; default: the URL",
  },
  enrolment: {
    type: "string",
    value: "ENROLMENT",
    help: "which enrolment a token is for, if several match it",
  },
  instance: {
    type: "string",
    value: "NAME",
    help: "which instance of the agent this machine is, if the enrolment allows several",
  },
} as const satisfies Options;

export const login: Verb = defineVerb({
  summary:
    "Store the service's URL and the agent key on this machine. Asks for the agent key, or " +
    "reads it from standard input, or gets one for a proof of origin.",
  positionals: {
    usage: "",
    least: 0,
    most: 0,
    wrong:
      "Do not pass the agent key as an argument: it is read from the terminal or standard input.",
  },
  example: "agentfiles login --url https://<ref>.supabase.co < key.txt",
  options: OPTIONS,
  async run({ values }, context) {
    if (values.url === undefined || !URL.canParse(values.url)) {
      throw new UsageError("Give the service's address with --url.");
    }
    const url = new URL(values.url).origin;
    const proof = storedProof(values, url);
    const options = {
      url,
      agentId: values.agent,
      retrySeconds: 10,
      ...await context.network(),
    };
    const login = proof === null
      ? await askedLogin(url, values.agent)
      : await (await import("../enrolment/enrolled_login.ts")).enrolledLogin(
        options,
        proof,
      );
    // Store the key before its first use, which spends a single-use proof: a crash then loses
    // nothing.
    if (proof !== null) await writeLogin(login);
    const { key, agentId } = login;
    const known = await check(new AgentFiles({ ...options, agentId, key }));
    if (proof === null) await writeLogin(login);
    note(`Written to ${loginFile()}`);
    await context.output.value(
      { url, agent_id: agentId ?? known },
      ({ agent_id }) => `Logged in at ${url}${agent_id ? ` as ${agent_id}` : ""}.`,
    );
  },
});

async function askedLogin(
  url: string,
  agentId: string | undefined,
): Promise<Login> {
  const key = await readSecret("Agent key: ");
  if (key === "") throw new NotLoggedInError("The agent key is empty.");
  return { url, key, ...(agentId !== undefined && { agentId }) };
}

/** The proof that the options name; null if `login` asks for an agent key. Throws UsageError. */
function storedProof(
  values: Values<typeof OPTIONS>,
  url: string,
): StoredProof | null {
  const { github, audience, enrolment, agent, instance } = values;
  const proofs: StoredProof[] = [
    ...(values["enrolment-key-file"]
      ? [{ enrolmentKeyFile: resolve(values["enrolment-key-file"]) }]
      : []),
    ...(values["token-file"] ? [{ tokenFile: resolve(values["token-file"]) }] : []),
    ...(github ? [{ githubAudience: audience ?? url }] : []),
  ];
  if (proofs.length > 1) {
    throw new UsageError(
      "Give one of --enrolment-key-file, --token-file and --github.",
    );
  }
  if (audience !== undefined && !github) {
    throw new UsageError("--audience needs --github.");
  }
  const [proof = null] = proofs;
  if (
    enrolment !== undefined &&
    (proof === null || proof.enrolmentKeyFile !== undefined)
  ) {
    throw new UsageError("--enrolment needs --token-file or --github.");
  }
  if (instance !== undefined && proof === null) {
    throw new UsageError("--instance needs --enrolment-key-file, --token-file or --github.");
  }
  return proof && {
    ...proof,
    ...(agent !== undefined && { agentName: agent }),
    ...(enrolment !== undefined && { enrolmentId: enrolment }),
    ...(instance !== undefined && { instance }),
  };
}

/**
 * Checks the agent key with /whoami, or by listing files if the deployment is older than /whoami.
 */
async function check(files: AgentFiles): Promise<string | null> {
  try {
    return (await files.whoami()).agent_id;
  } catch (error) {
    if (!(error instanceof AgentError) || error.code !== "not_found") {
      throw error;
    }
  }
  for await (const _ of files.list({ prefix: "" })) break;
  return null;
}
