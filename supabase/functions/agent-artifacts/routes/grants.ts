import * as z from "zod";
import { agentId, limit, sentTimestamp, subject } from "../../_shared/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import {
  artifactId,
  nextCursor,
  sentArtifactId,
  sentExpiry,
  sentGrantee,
  sentGrantId,
  sentKey,
} from "../fields.ts";

const givenGrant = z.object({
  grant_id: sentGrantId,
  artifact_id: sentArtifactId,
  key: sentKey,
  to_agent: sentGrantee,
  granted_at: sentTimestamp,
  expires_at: sentExpiry,
  max_downloads: z.int().nullable()
    .meta({ description: "How many it allows; null: any number.", examples: [5] }),
  downloads: z.int().meta({
    description: "With `max_downloads`, how many of them were used. Without, how many there were " +
      "by the token; what the agent opened by its own key is in /events.",
    examples: [2],
  }),
}).meta({ id: "GivenGrant" });

const response = z.object({ grants: z.array(givenGrant), next_cursor: nextCursor });

export function createOperation({ relayDatabase }: Platform): Operation {
  return defineOperation({
    summary: "The live grants that an agent has given, those that end first.",
    description:
      "It never shows a token. A grant that was used up is among them until it ends. A " +
      "page may be short, or empty, before the last.",
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
