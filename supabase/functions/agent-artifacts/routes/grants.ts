import * as z from "zod";
import { agentId, limit, sentTimestamp, subject } from "../../_shared/fields.ts";
import { defineOperation, type Operation, type Platform } from "../../_shared/operation.ts";
import {
  artifactId,
  nextCursor,
  sentArtifactId,
  sentExpiry,
  sentGrantId,
  sentKey,
} from "../fields.ts";

const givenGrant = z.object({
  grant_id: sentGrantId,
  artifact_id: sentArtifactId,
  key: sentKey,
  to_agent: z.string().meta({ examples: ["builder"] }),
  granted_at: sentTimestamp,
  expires_at: sentExpiry,
}).meta({ id: "GivenGrant" });

const response = z.object({ grants: z.array(givenGrant), next_cursor: nextCursor });

export function createOperation({ relayDatabase }: Platform): Operation {
  return defineOperation({
    summary: "The live grants that an agent has given, those that end first.",
    description: "It never shows a token. A page may be short, or empty, before the last.",
    tag: "Grants",
    callers: "the agent itself",
    effect: "reads",
    identification: "required",
    request: z.object({
      agent_id: subject,
      artifact_id: artifactId.optional()
        .meta({ description: "Only grants of this artifact." }),
      to_agent: agentId.optional()
        .meta({ description: "Only grants to this agent.", examples: ["builder"] }),
      limit,
      cursor: z.string()
        // The end of the grant that the page before ended with, in microseconds, and its id.
        .regex(/^\d{1,18}\.grant_[0-9a-f]{32}$/, "Must be the next_cursor of an earlier answer.")
        .optional(),
    }),
    response,
    errors: [],
    handle({ input, caller }) {
      return relayDatabase("list_grants", {
        caller,
        agent_id: input.agent_id ?? null,
        artifact_id: input.artifact_id ?? null,
        to_agent: input.to_agent ?? null,
        max_entries: input.limit,
        cursor: input.cursor ?? null,
      });
    },
  });
}
