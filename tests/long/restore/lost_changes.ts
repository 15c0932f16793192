import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { AgentFiles } from "../../../packages/agent-files/index.ts";
import type { LostChange, Restorable } from "../../operations/card.ts";
import { ALL_CARDS } from "../../operations/cards.ts";
import type { RestorableStack } from "./restorable_stack.ts";

const MESH = "/functions/v1/agent-mesh";

/** Registers the peer of an agent, with a new public key. */
export async function registerPeer(exercise: RestorableStack, agent_id: string): Promise<void> {
  const pubkey = createHash("sha256").update(randomBytes(32)).digest();
  pubkey[31]! &= 127;
  await exercise.ask(`${MESH}/peer/register`, { agent_id, pubkey: pubkey.toString("base64") });
}

/**
 * The changes that the operations' cards arrange. The restored database does not contain them.
 * Needs the peers alpha and beta, with a rule between them.
 */
export async function arrangeLostChanges(
  exercise: RestorableStack,
  planner: string,
): Promise<readonly LostChange[]> {
  const name = "/rest/v1/rpc/agent_api_create_agent_key";
  const { key: reader } = await exercise.ask(name, { agent_id: "reader" });
  const on: Restorable = {
    ask: (path, body, key) => exercise.ask(`/functions/v1${path}`, body, key),
    post: (path, body, key) => exercise.post(`/functions/v1${path}`, body, key),
    planner,
    reader,
    files: new AgentFiles({ url: exercise.stack.url, key: planner }),
  };
  const changes: LostChange[] = [];
  for (const { afterRestore } of ALL_CARDS) {
    if (typeof afterRestore === "function") changes.push(await afterRestore(on));
  }
  assert.ok(changes.length >= 7, String(changes.length));
  return changes;
}

export async function assertThere(
  changes: readonly LostChange[],
  expected: boolean,
): Promise<void> {
  for (const { told, isThere } of changes) assert.equal(await isThere(), expected, told);
}
