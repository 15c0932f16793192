import * as z from "zod";
import { agentId, timestamp } from "../../_shared/fields.ts";
import { defineOperation, type Operation, type Platform } from "../../_shared/operation.ts";
import { newGrantToken, newIdentifier, sha256Hex } from "../../_shared/secrets.ts";
import { artifactId, sentArtifactId, sentExpiry, sentGrantId, sentGrantToken } from "../fields.ts";
import type { ArtifactsSettings } from "../settings.ts";

const grantWithoutToken = z.object({
  grant_id: sentGrantId,
  artifact_id: sentArtifactId,
  to_agent: z.string().meta({ examples: ["builder"] }),
  expires_at: sentExpiry,
});

const response = grantWithoutToken.extend({
  token: sentGrantToken.meta({ description: "For /fetch. Shown here and never again." }),
}).meta({ id: "Grant" });

export function createOperation(
  { callDatabase, settings }: Platform<ArtifactsSettings>,
): Operation {
  return defineOperation({
    summary: "Give another agent access to an artifact until a given time.",
    description: "The agent finds the grant in its /inbox and opens it with its own key. The " +
      "token is for handing the access to somebody without an agent key.",
    tag: "Grants",
    callers: "the owner",
    effect: "adds",
    identification: "required",
    request: z.object({
      artifact_id: artifactId,
      to_agent: agentId.meta({ examples: ["builder"] }),
      expires_at: timestamp,
    }),
    response,
    errors: ["artifact_not_found", "artifact_not_committed", "artifact_expired", "limit_exceeded"],
    async handle({ input, caller }) {
      const token = newGrantToken();
      const granted = await callDatabase<z.output<typeof grantWithoutToken>>("grant_artifact", {
        caller,
        ...input,
        grant_id: newIdentifier("grant_"),
        token_hash: sha256Hex(token),
        max_live_grants: settings.artifactsMaxGrants,
        max_ended_grants: settings.artifactsMaxEndedGrants,
      });
      return { ...granted, token };
    },
  });
}
