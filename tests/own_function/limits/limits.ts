/**
 * Registrations that count against an agent's limits, and the number of artifacts in the database.
 */
import type { Registered } from "../../conformance/artifacts.ts";
import type { Agent, Answer } from "../../conformance/client.ts";
import { withStackDatabase } from "../../database/connection.ts";
import type { OwnFunction } from "../own_function.ts";

/** Calls this function's /register for an artifact of `size` bytes. */
export function registerBytes(
  own: OwnFunction,
  agent: Agent,
  size: number,
): Promise<Answer<Registered>> {
  const body = { agent_id: agent.id, key: "k", mime: "text/plain", size, ttl_days: 1 };
  return own.post<Registered>("/register", { as: agent, body });
}

/** The number of the agent's artifacts, including pending and deleted ones. */
export async function countArtifacts(agent: Agent): Promise<number> {
  const [row] = await withStackDatabase((sql) =>
    sql`select count(*)::integer as count from artifacts.artifacts where agent_id = ${agent.id}`
  );
  return row!["count"];
}
