/** Requests that differ in their credentials alone, and what is answered to those without one. */
import assert from "node:assert/strict";
import { type Agent, type Answer, assertError, post } from "./client.ts";

/** Has the form of an agent key, and was never given to anybody. */
export const UNKNOWN_AGENT_KEY = `ak_${"0".repeat(64)}`;

/** Asks for the agent's list with these headers and no other credential. */
export function listWith(agent: Agent, headers: Record<string, string>): Promise<Answer> {
  return post("/agent-artifacts/list", { as: { headers }, body: { agent_id: agent.id } });
}

/** Asserts 401 unauthenticated, with the header that says which credential is missing. */
export function assertUnauthenticated(answer: Answer): void {
  assertError(answer, 401, "unauthenticated");
  // /mcp also says where its metadata is.
  assert.match(
    answer.headers.get("www-authenticate") ?? "",
    /^Bearer(?: resource_metadata="\S+")?$/,
  );
}
