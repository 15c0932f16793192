import * as z from "zod";
import { agentId, timestamp } from "../../_shared/fields.ts";
import { defineOperation, type Operation, type Platform } from "../../_shared/operation.ts";
import { newGrantToken, newIdentifier, sha256Hex } from "../../_shared/secrets.ts";
import { artifactId } from "../fields.ts";

const grantWithoutToken = z.object({
  grant_id: z.string(),
  artifact_id: z.string(),
  to_agent: z.string(),
  expires_at: z.string(),
});

export function createOperation({ callDatabase, settings }: Platform): Operation {
  return defineOperation({
    summary: "Give another agent access to an artifact until a given time.",
    access: "the owner, the operator",
    request: z.object({ artifact_id: artifactId, to_agent: agentId, expires_at: timestamp }),
    response: grantWithoutToken.extend({
      token: z.string().meta({ description: "For /fetch. Shown here and never again." }),
    }),
    errors: ["artifact_not_found", "artifact_not_committed", "artifact_expired", "limit_exceeded"],
    async handle({ input, caller }) {
      const token = newGrantToken();
      const granted = await callDatabase<z.output<typeof grantWithoutToken>>("grant_artifact", {
        caller,
        ...input,
        grant_id: newIdentifier("grant_"),
        token_hash: sha256Hex(token),
        max_live_grants: settings.artifactsMaxGrants,
      });
      return { ...granted, token };
    },
  });
}
