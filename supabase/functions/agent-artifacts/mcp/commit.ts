import * as z from "zod";
import { agentId } from "../../_shared/fields.ts";
import { defineTool, type McpCall } from "../../_shared/mcp/definition.ts";
import type { Artifact } from "../fields.ts";

const MAX_GRANTEES = 10;

/** The answer of /commit. With status 202, its state is `verifying`. */
interface Committed extends Omit<Artifact, "state"> {
  readonly state: Artifact["state"] | "verifying";
  readonly verified_bytes?: number;
}

/** /commit, and then /grant for each agent in `to`. */
export const commitTool = defineTool({
  name: "commit",
  summary: "Verify the uploaded bytes and make them the artifact's content.",
  description: "Repeat it while `state` is `verifying`. After `size_mismatch` or " +
    "`checksum_mismatch`, run the upload's `command` again, with the right bytes.",
  additions: z.object({
    to: z.array(agentId).max(MAX_GRANTEES, `Must have at most ${MAX_GRANTEES} agents.`).default([])
      .meta({ description: "The agents to grant it to, until it expires." }),
  }),
  async call({ run }, { given, added: { to } }) {
    const committed = await run<Committed>("/commit", given);
    const { state, expires_at, verified_bytes } = committed;
    if (state === "verifying") return { body: { state, verified_bytes } };
    for (const agent of to) await grantOnce(run, committed, agent);
    // The caller has registered the artifact, and knows the other fields.
    return { body: { state, expires_at, ...(to.length > 0 && { granted_to: to }) } };
  },
});

/** Grants only if there is no live grant yet, because a commit may be repeated. */
async function grantOnce(
  run: McpCall["run"],
  { agent_id, artifact_id, expires_at }: Committed,
  to_agent: string,
): Promise<void> {
  const live = { agent_id, artifact_id, to_agent, limit: 1 };
  const { grants } = await run<{ readonly grants: readonly object[] }>("/grants", live);
  if (grants.length === 0) await run("/grant", { artifact_id, to_agent, expires_at });
}
