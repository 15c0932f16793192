import * as z from "zod";
import { agentId, tag, timestamp } from "../../_shared/request/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import { newGrantToken, newIdentifier, sha256Hex } from "../../_shared/identity/secrets.ts";
import {
  artifactId,
  maxDownloads,
  namesOneGrantee,
  ONE_GRANTEE,
  sentArtifactId,
  sentExpiry,
  sentGrantee,
  sentGrantId,
  sentGrantToken,
  sentTag,
} from "../fields.ts";
import type { ArtifactsSettings } from "../settings.ts";

const grantWithoutToken = z.object({
  grant_id: sentGrantId,
  artifact_id: sentArtifactId,
  to_agent: sentGrantee,
  to_tag: sentTag,
  expires_at: sentExpiry.meta({ description: "When the grant expires." }),
});

const response = grantWithoutToken.extend({
  token: sentGrantToken.meta({
    description:
      "For /fetch and for the link /d/<token>. Anyone who has it can download the file. " +
      "It is never shown again.",
  }),
}).meta({ id: "Grant" });

export function createOperation(
  { callDatabase, settings }: Platform<ArtifactsSettings>,
): Operation {
  return defineOperation({
    summary:
      "Give another agent, every agent with a tag, or anyone with the link, access to an artifact " +
      "until a given time.",
    description: "The agent finds the grant in its /inbox and opens it with its own agent key. " +
      "With `to_tag`, so does every agent that has the tag at the moment of its request: an agent " +
      "that gets the tag later has access from then on, and one that loses it has none any more. " +
      "The token gives access to somebody without an agent key: a program sends it to /fetch, a " +
      "person opens the link /d/<token>. Without `to_agent` and `to_tag`, the token is the only access.",
    tag: "Grants",
    callers: "the owner",
    effect: "adds",
    identification: "required",
    request: z.strictObject({
      artifact_id: artifactId,
      to_agent: agentId.optional().meta({
        description: "The agent that gets access. Default: anyone with the token.",
        examples: ["builder"],
      }),
      to_tag: tag.optional().meta({
        description: "In place of `to_agent`: all agents with this tag.",
      }),
      expires_at: timestamp.meta({ description: "When the grant expires." }),
      max_downloads: maxDownloads.optional().meta({
        description: "How many downloads to allow, of all together. Default: any number.",
      }),
    }).refine(namesOneGrantee, ONE_GRANTEE),
    response,
    errors: ["artifact_not_found", "artifact_not_committed", "artifact_expired", "limit_exceeded"],
    async handle({ input, caller }) {
      const token = newGrantToken();
      const granted = await callDatabase<z.output<typeof grantWithoutToken>>("grant_artifact", {
        caller,
        artifact_id: input.artifact_id,
        to_agent: input.to_agent ?? null,
        to_tag: input.to_tag ?? null,
        expires_at: input.expires_at,
        max_downloads: input.max_downloads ?? null,
        grant_id: newIdentifier("grant_"),
        token_hash: sha256Hex(token),
        max_live_grants: settings.artifactsMaxGrants,
        max_ended_grants: settings.artifactsMaxEndedGrants,
      });
      return { ...granted, token };
    },
  });
}
