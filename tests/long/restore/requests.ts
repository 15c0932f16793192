/** Requests and tasks of the restore tests, against the stack of an exercise. */
import { createHash, randomBytes } from "node:crypto";
import { AgentFiles } from "../../../packages/agent-files/index.ts";
import { runTask } from "../../../packages/local/tests/stack/stack_process.ts";
import type { RestorableStack } from "./restorable_stack.ts";

export const MESH = "/functions/v1/agent-mesh";
export const FILES = "/functions/v1/agent-artifacts";

export function newPubkey(): string {
  const pubkey = createHash("sha256").update(randomBytes(32)).digest();
  pubkey[31]! &= 127;
  return pubkey.toString("base64");
}

/** Calls an SQL function as the dashboard and the tasks do. */
export function rpc(exercise: RestorableStack, name: string, body: object) {
  return exercise.ask(`/rest/v1/rpc/agent_api_${name}`, body);
}

export async function agentWithKey(exercise: RestorableStack, agent_id: string) {
  return await rpc(exercise, "create_agent_key", { agent_id }) as { key: string; key_id: string };
}

/** Runs a task against the exercise's stack, as an operator would. */
export async function task(exercise: RestorableStack, program: string, ...args: string[]) {
  const { url, secretKey } = exercise.stack;
  return await runTask(program, {
    args,
    environment: { SUPABASE_URL: url, SUPABASE_SECRET_KEY: secretKey },
  });
}

export async function linkOf(exercise: RestorableStack, key: string, name: string) {
  const files = new AgentFiles({ url: exercise.stack.url, key });
  const { artifact_id } = await files.put(name, `bytes of ${name}`);
  const { token, grant_id } = await exercise.ask(`${FILES}/grant`, {
    artifact_id,
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
  }, key);
  return { artifact_id, token, grant_id };
}

export async function statusOfLink(exercise: RestorableStack, token: string): Promise<number> {
  return (await exercise.post(`${FILES}/fetch`, { grant_token: token }, "nobody")).status;
}

export async function configOf(exercise: RestorableStack, agent_id: string): Promise<string> {
  return (await exercise.ask(`${MESH}/wg_config`, { agent_id })).config;
}
