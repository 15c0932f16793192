/** Hosts on which the processes of an agent share what lasts until a restart. */
import { interpreter, PYTHON_ENVIRONMENT } from "../../../../clients/python/tests/interpreter.ts";
import { SUPABASE_URL } from "../../../../tests/conformance/client.ts";

const PROJECT = new URL("../../../../", import.meta.url).pathname;

interface Run {
  readonly code: number;
  readonly output: string;
}

async function run(
  program: string,
  args: readonly string[],
  environment: Record<string, string>,
): Promise<Run> {
  const { code, stdout, stderr } = await new Deno.Command(program, {
    args: [...args],
    env: {
      URL: SUPABASE_URL,
      ...PYTHON_ENVIRONMENT,
      ...environment,
    },
    stdin: "null",
  }).output();
  const text = new TextDecoder();
  return { code, output: text.decode(stdout) + text.decode(stderr) };
}

/** A host: processes share its folder for what lasts until a restart. */
export async function newHost(
  ends: AsyncDisposableStack,
  environment: Record<string, string> = {},
) {
  const folder = await Deno.makeTempDir();
  ends.defer(() => Deno.remove(folder, { recursive: true }));
  const shared = { XDG_RUNTIME_DIR: folder, ...environment };
  return {
    folder,
    python: async (script: string, more: Record<string, string> = {}) =>
      await run(await interpreter(), ["-c", script], { ...shared, ...more }),
    typescript: (script: string, more: Record<string, string> = {}) =>
      run(Deno.execPath(), ["eval", "--no-check", script], { ...shared, ...more }),
  };
}

/** As one of the workers that Node's cluster starts: the same script, in a process of its own. */
export const CLUSTER_WORKER = `
const { AgentFiles } = await import("${PROJECT}packages/agent-files/index.ts");
const enrol = JSON.parse(Deno.env.get("ENROL"));
const files = new AgentFiles({ url: Deno.env.get("URL"), enrol });
for (let round = 0; round < 5; round++) console.log((await files.whoami()).agent_id);
`;

/** Prints as which agent the client acts. */
export const IN_PYTHON = `
import json, os
from agent_files import AgentFiles
print(AgentFiles(os.environ["URL"], enrol=json.loads(os.environ["ENROL"])).whoami()["agent_id"])
`;
