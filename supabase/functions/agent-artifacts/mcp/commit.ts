import * as z from "zod";
import { defineTool, type McpCall } from "../../_shared/operations/mcp/definition.ts";
import { agentId } from "../../_shared/request/fields.ts";
import type { Artifact } from "../fields.ts";

const MAX_GRANTEES = 10;

/** The agents that a tool grants a file to when it is committed. */
export const grantees = z.array(agentId)
  .max(MAX_GRANTEES, `Must have at most ${MAX_GRANTEES} agents.`).default([]);

/** The answer of /commit. With status 202, its state is `verifying`. */
export interface Committed extends Omit<Artifact, "state"> {
  readonly state: Artifact["state"] | "verifying";
  readonly verified_bytes?: number;
}

/**
 * Grants a committed file to each agent, until it expires. Only to those that have no live grant
 * yet, because a commit may be repeated.
 */
export async function handOver(
  run: McpCall["run"],
  { agent_id, artifact_id, expires_at }: Committed,
  to: readonly string[],
): Promise<void> {
  for (const to_agent of to) {
    const live = { agent_id, artifact_id, to_agent, limit: 1 };
    const { grants } = await run<{ readonly grants: readonly object[] }>("/grants", live);
    if (grants.length === 0) await run("/grant", { artifact_id, to_agent, expires_at });
  }
}

/** /commit, and then /grant for each agent in `to`. */
export const commitTool = defineTool({
  name: "commit",
  answers: "state",
  summary: "Verify the uploaded bytes and make them the artifact's content.",
  description: "Repeat it while `state` is `verifying`. After `size_mismatch` or " +
    "`checksum_mismatch`, run the upload's `command` again, with the right bytes.",
  additions: z.object({
    to: grantees.meta({ description: "Agents to grant it to, until it expires." }),
  }),
  async call({ run }, { given, added: { to } }) {
    const committed = await run<Committed>("/commit", given);
    const { state, expires_at, verified_bytes } = committed;
    if (state === "verifying") return { body: { state, verified_bytes } };
    await handOver(run, committed, to);
    // The caller has registered the artifact, and knows the other fields.
    return { body: { state, expires_at, ...(to.length > 0 && { granted_to: to }) } };
  },
});
