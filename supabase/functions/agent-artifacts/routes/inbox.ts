import * as z from "zod";
import { agentId, sentTimestamp } from "../../_shared/fields.ts";
import { defineOperation, type Operation, type Platform } from "../../_shared/operation.ts";
import {
  limit,
  nextCursor,
  sentArtifactId,
  sentExpiry,
  sentGrantId,
  sentKey,
  sentMime,
  sentSha256,
  sentSize,
} from "../fields.ts";

const inboxEntry = z.object({
  grant_id: sentGrantId,
  artifact_id: sentArtifactId,
  from_agent: z.string().meta({ examples: ["planner"] }),
  key: sentKey,
  mime: sentMime,
  size: sentSize,
  sha256: sentSha256,
  granted_at: sentTimestamp,
  expires_at: sentExpiry,
}).meta({ id: "InboxEntry" });

const response = z.object({ grants: z.array(inboxEntry), next_cursor: nextCursor });

export function createOperation({ relayDatabase }: Platform): Operation {
  return defineOperation({
    summary: "The live grants to an agent, newest first.",
    description: "It never shows a token: an agent opens what was granted to it with /open.",
    tag: "Grants",
    callers: "the agent itself",
    effect: "reads",
    identification: "required",
    request: z.object({
      agent_id: agentId.meta({ examples: ["builder"] }),
      limit,
      cursor: z.string()
        // The grant that the page before ended with.
        .regex(/^grant_[0-9a-f]{32}$/, "Must be the next_cursor of an earlier answer.")
        .optional(),
    }),
    response,
    errors: [],
    handle({ input, caller }) {
      return relayDatabase("list_inbox", {
        caller,
        agent_id: input.agent_id,
        max_entries: input.limit,
        after_grant_id: input.cursor ?? null,
      });
    },
  });
}
