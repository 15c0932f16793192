import * as z from "zod";
import { agentId } from "../../_shared/fields.ts";
import { defineOperation, type Operation, type Platform } from "../../_shared/operation.ts";
import { limit } from "../fields.ts";

const response = z.object({
  grants: z.array(z.object({
    grant_id: z.string(),
    artifact_id: z.string(),
    from_agent: z.string(),
    key: z.string(),
    mime: z.string(),
    size: z.int(),
    sha256: z.string(),
    granted_at: z.string(),
    expires_at: z.string(),
  })),
  next_cursor: z.string().nullable(),
});

export function createOperation({ callDatabase }: Platform): Operation {
  return defineOperation({
    summary: "The live grants to an agent, newest first.",
    access: "the agent itself, the operator",
    request: z.object({
      agent_id: agentId,
      limit,
      cursor: z.string()
        // The grant that the page before ended with.
        .regex(/^grant_[0-9a-f]{32}$/, "Must be the next_cursor of an earlier answer.")
        .optional(),
    }),
    response,
    errors: [],
    handle({ input, caller }) {
      return callDatabase<z.output<typeof response>>("list_inbox", {
        caller,
        agent_id: input.agent_id,
        max_entries: input.limit,
        after_grant_id: input.cursor ?? null,
      });
    },
  });
}
