/** Requests that differ only in their credentials, and the answer to a missing credential. */
import assert from "node:assert/strict";
import { type Agent, type Answer, assertError, post } from "./client.ts";

/** A well-formed agent key that was never issued. */
export const UNKNOWN_AGENT_KEY = `ak_${"0".repeat(64)}`;

/** Calls /list for the agent, with these headers and no other credential. */
export function listWith(agent: Agent, headers: Record<string, string>): Promise<Answer> {
  return post("/agent-artifacts/list", { as: { headers }, body: { agent_id: agent.id } });
}

/** Asserts 401 unauthenticated, with the header that says which credential is missing. */
export function assertUnauthenticated(answer: Answer): void {
  assertError(answer, 401, "unauthenticated");
  // /mcp adds the URL of its metadata.
  assert.match(
    answer.headers.get("www-authenticate") ?? "",
    /^Bearer(?: resource_metadata="\S+")?$/,
  );
}
