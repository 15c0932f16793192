/** `agentops fsck` on a test's separate stack, and what callers get there. */
import { fileURLToPath } from "node:url";
import type { OwnStack } from "../../../../tests/database/own_stack.ts";

const AGENTOPS = fileURLToPath(new URL("../../agentops/main.ts", import.meta.url));

export async function fsck(
  { stack }: OwnStack,
  ...args: string[]
): Promise<{ code: number; lines: string[]; errors: string }> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-env", "--allow-read", "--allow-net", AGENTOPS, "fsck", ...args],
    env: { SUPABASE_URL: stack.url, SUPABASE_SECRET_KEY: stack.secretKey },
  }).output();
  const [output, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  return { code, lines: output!.split("\n").filter((line) => line !== ""), errors: errors! };
}

/** What the operator's request is answered: `200`, or the status and the code of the error. */
export async function codeOf({ stack }: OwnStack, path: string, body: object): Promise<string> {
  const response = await fetch(`${stack.url}/functions/v1/agent-artifacts${path}`, {
    method: "POST",
    headers: { apikey: stack.secretKey },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  return response.ok ? "200" : `${response.status} ${answer.error.code}`;
}
