/** Tags of agents, and grants to tags, for tests. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { inbox } from "../artifacts.ts";
import { type Agent, type Answer, operatorRpc, post, type Sender } from "../client.ts";

/** A tag that no agent of this deployment has. */
export function newTag(): string {
  return `tag:test-${randomUUID()}`;
}

/** Replaces the agent's tags. */
export async function setTags(agent: Agent, ...tags: string[]): Promise<void> {
  const answer = await operatorRpc("set_agent_tags", { agent_id: agent.id, tags });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
}

/** Opens the artifact that the owner's key names. */
export function openByKey(
  as: Sender,
  { agent_id, key }: { readonly agent_id: string; readonly key: string },
): Promise<Answer> {
  return post("/agent-artifacts/open", { as, body: { agent_id, key } });
}

/** The ids of the grants in an agent's inbox. */
export async function inboxIds(agent: Agent): Promise<string[]> {
  return (await inbox(agent)).map(({ grant_id }) => grant_id);
}
