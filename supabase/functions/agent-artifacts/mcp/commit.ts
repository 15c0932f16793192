import * as z from "zod";
import { defineTool } from "../../_shared/operations/mcp/definition.ts";
import { type Committed, grantees, handOver } from "./hand_over.ts";

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
