import * as z from "zod";
import { createEventsOperation } from "../../_shared/events.ts";
import type { Operation, Platform } from "../../_shared/operations/operation.ts";
import { sentTimestamp } from "../../_shared/fields.ts";
import { ARTIFACT_ID, sentArtifactId, sentExpiry, sentGrantId, sentSha256 } from "../fields.ts";

export const ARTIFACT_EVENT_TYPES = [
  "artifact.committed",
  "artifact.registered",
  "artifact.opened",
  "artifact.fetched",
  "artifact.deleted",
  "artifact.expired",
  "artifact.abandoned",
  "grant.created",
  "grant.revoked",
] as const;

export function createOperation(platform: Platform): Operation {
  return createEventsOperation(platform, {
    types: ARTIFACT_EVENT_TYPES,
    fields: {
      artifact_id: sentArtifactId.optional(),
      grant_id: sentGrantId.optional(),
      from_agent: z.string().optional(),
      to_agent: z.string().optional()
        .meta({ description: "Not where the grant is for whoever has the token." }),
      expires_at: sentExpiry.optional().meta({ description: "When the grant ends." }),
      max_downloads: z.int().optional()
        .meta({ description: "How many downloads the grant allows." }),
      sha256: sentSha256.optional(),
      reads: z.int().optional()
        .meta({ description: "How many reads the event stands for: at most one event a minute." }),
      last_read_at: sentTimestamp.optional()
        .meta({ description: "When the last of them was, where that is not `at`." }),
      superseded: z.string().optional()
        .meta({ description: "The artifact that the committed one took the place of." }),
    },
    example: { artifact_id: ARTIFACT_ID.examples[0] },
    about: "Commits, reads and ends of its artifacts, what it read, and grants from and to it.",
  });
}
