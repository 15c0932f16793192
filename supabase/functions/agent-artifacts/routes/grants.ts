import * as z from "zod";
import { agentId, limit, sentTimestamp, subject, tag } from "../../_shared/request/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import {
  artifactId,
  CURSOR,
  grantId,
  namesOneGrantee,
  nextCursor,
  ONE_GRANTEE,
  sentArtifactId,
  sentExpiry,
  sentGrantee,
  sentGrantId,
  sentKey,
  sentTag,
} from "../fields.ts";
import { sentStandingId } from "../standing.ts";
import { givenWork } from "../tasks.ts";

const givenGrant = z.object({
  grant_id: sentGrantId,
  artifact_id: sentArtifactId,
  key: sentKey,
  to_agent: sentGrantee,
  to_tag: sentTag,
  granted_at: sentTimestamp.meta({ description: "When it was granted." }),
  expires_at: sentExpiry.meta({ description: "When the grant expires." }),
  standing_id: sentStandingId.optional()
    .meta({ description: "The standing grant that made it. Missing if none did." }),
  max_downloads: z.int().min(1).nullable()
    .meta({ description: "How many downloads it allows; null: any number.", examples: [5] }),
  downloads: z.int().min(0).meta({
    description: "With `max_downloads`, how many downloads were used. Without it, how many the " +
      "token was used for; /events shows what the agent opened with its own agent key.",
    examples: [2],
  }),
  ...givenWork,
  ended: z.boolean().optional().meta({
    description: "Whether the grant has ended. Only with `grant_id`: lists show live grants.",
    examples: [false],
  }),
}).meta({ id: "GivenGrant" });

const response = z.object({ grants: z.array(givenGrant), next_cursor: nextCursor });

export function createOperation({ relayDatabase }: Platform): Operation {
  return defineOperation({
    summary: "List the live grants that an agent has given, the first to expire first.",
    description:
      "Tokens are never shown. With each grant comes what became of it as work. A grant whose " +
      "downloads are used up is listed until it expires. With `grant_id`, the answer is that " +
      "grant, even if it has ended, until the service forgets it. A page may be short or empty although there is a next one.",
    tag: "Grants",
    callers: "the agent itself",
    effect: "reads",
    identification: "required",
    request: z.strictObject({
      agent_id: subject,
      artifact_id: artifactId.optional()
        .meta({ description: "Only grants of this artifact." }),
      to_agent: agentId.optional()
        .meta({ description: "Only grants that name this agent.", examples: ["builder"] }),
      to_tag: tag.optional().meta({ description: "Only grants to this tag." }),
      grant_id: grantId.optional(),
      limit,
      cursor: z.string()
        // When the last grant of the previous page ends, in microseconds, and its id.
        .regex(/^[0-9]{1,18}\.grant_[0-9a-f]{32}$/, "Must be the next_cursor of an earlier answer.")
        .optional().meta(CURSOR),
    }).refine(namesOneGrantee, ONE_GRANTEE),
    response,
    errors: [],
    handle({ input, caller }) {
      return relayDatabase("list_grants", {
        caller,
        agent_id: input.agent_id ?? null,
        artifact_id: input.artifact_id ?? null,
        to_agent: input.to_agent ?? null,
        to_tag: input.to_tag ?? null,
        max_entries: input.limit,
        cursor: input.cursor ?? null,
        // Left out otherwise: the SQL function of an earlier release does not know it.
        ...(input.grant_id !== undefined && { grant_id: input.grant_id }),
      });
    },
  });
}
