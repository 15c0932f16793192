import * as z from "zod";
import { createEventsOperation } from "../../_shared/operations/events.ts";
import type { Operation, Platform } from "../../_shared/operations/operation.ts";
import { sentAgentId, sentTimestamp, tag } from "../../_shared/request/fields.ts";
import {
  ARTIFACT_ID_EXAMPLE,
  sentArtifactId,
  sentExpiry,
  sentGrantId,
  sentKey,
  sentSha256,
  version,
} from "../fields.ts";
import { sentStandingId } from "../standing.ts";

export const ARTIFACT_EVENT_TYPES = [
  "artifact.committed",
  "artifact.registered",
  "artifact.opened",
  "artifact.fetched",
  "artifact.superseded",
  "artifact.deleted",
  "artifact.expired",
  "artifact.abandoned",
  "artifact.lost",
  "artifact.recovered",
  "grant.created",
  "grant.revoked",
  "task.taken",
  "task.done",
  "task.failed",
  "task.parked",
  "standing.created",
  "standing.ended",
] as const;

export function createOperation(platform: Platform): Operation {
  return createEventsOperation(platform, {
    types: ARTIFACT_EVENT_TYPES,
    fields: {
      artifact_id: sentArtifactId.optional(),
      key: sentKey.optional().meta({
        description: "The file's name. Only its owner sees it, and an agent that opened it.",
      }),
      grant_id: sentGrantId.optional(),
      standing_id: sentStandingId.optional(),
      from_agent: sentAgentId.optional().meta({ description: "The agent that gave the grant." }),
      to_agent: sentAgentId.optional().meta({
        description:
          "The agent that has access. Missing if the grant is to a tag, or for anyone with the token.",
      }),
      to_tag: tag.optional().meta({
        description: "The tag whose agents have access. Only the granting agent sees its events; " +
          "the tag's agents find it in their /inbox.",
      }),
      expires_at: sentExpiry.optional().meta({ description: "When the grant expires." }),
      max_downloads: z.int().min(1).optional()
        .meta({ description: "How many downloads the grant allows." }),
      attempt: z.int().min(0).optional()
        .meta({ description: "Of a task: the attempt that began or ended.", examples: [1] }),
      next_at: sentTimestamp.optional()
        .meta({ description: "Of a task that failed: when it can be taken again." }),
      reply_grant_id: sentGrantId.optional()
        .meta({ description: "Of a task that is done: the grant that answers it." }),
      sha256: sentSha256.optional(),
      reads: z.int().min(1).optional().meta({
        description:
          "How many reads this event stands for. Reads are logged once a minute at most.",
      }),
      last_read_at: sentTimestamp.optional()
        .meta({ description: "When the last of these reads was, if later than `at`." }),
      version: version.optional().meta({
        description: "The version that the commit gave the file.",
        examples: [3],
      }),
      superseded: sentArtifactId.optional()
        .meta({ description: "The artifact that the committed one replaced." }),
      superseded_by: sentArtifactId.optional()
        .meta({ description: "The artifact that replaced this one under its name." }),
    },
    example: { artifact_id: ARTIFACT_ID_EXAMPLE, key: "reports/2026/july.pdf" },
    about:
      "Shows when the agent's artifacts were committed, replaced, read and deleted, what the agent read, and " +
      "its grants to and from others.",
  });
}
