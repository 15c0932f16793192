import * as z from "zod";
import { agentId, tag, timestamp } from "../../_shared/request/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import {
  ARTIFACT_ID_EXAMPLE,
  artifactId,
  grantId,
  maxDownloads,
  namesOneGrantee,
  ONE_GRANTEE,
  sentGrantId,
} from "../fields.ts";

const REQUIRED_WITHOUT_GRANT_ID = {
  message: "Required, unless grant_id is given.",
  // Checked even if other fields are bad, so that one answer names all of them.
  when: () => true,
};

const request = z.strictObject({
  artifact_id: artifactId.optional(),
  // Null is accepted, because /grant answers with null for anyone with the token.
  to_agent: agentId.nullish().meta({ description: "The agent whose access ends." }),
  to_tag: tag.nullish().meta({ description: "The tag whose agents lose this access." }),
  grant_id: grantId.optional(),
  // Accepted, so that the request of /grant and its answer can be sent unchanged. They narrow
  // nothing.
  expires_at: timestamp.optional().meta({ description: "Ignored." }),
  max_downloads: maxDownloads.optional().meta({ description: "Ignored." }),
  token: z.string().min(1).max(16_384).optional().meta({ description: "Ignored." }),
})
  .refine((input) => input.grant_id !== undefined || input.artifact_id !== undefined, {
    path: ["artifact_id"],
    ...REQUIRED_WITHOUT_GRANT_ID,
  })
  .refine(
    ({ grant_id, to_agent, to_tag }) => (grant_id ?? to_agent ?? to_tag ?? null) !== null,
    { path: ["to_agent"], ...REQUIRED_WITHOUT_GRANT_ID },
  )
  .refine(namesOneGrantee, ONE_GRANTEE);

const response = z.object({
  revoked: z.int().min(0).meta({ description: "How many grants this call ended.", examples: [1] }),
  grant_ids: z.array(sentGrantId).meta({ description: "The grants that this call ended." }),
});

export function createOperation({ relayDatabase }: Platform): Operation {
  return defineOperation({
    summary: "End one grant, or every live grant of an artifact to an agent or to a tag.",
    description:
      "Send `artifact_id` and `to_agent` or `to_tag`, or `grant_id` alone. Later requests are " +
      "refused. A download URL that was issued earlier works until it expires.",
    tag: "Grants",
    callers: "the owner",
    effect: "replaces",
    identification: "required",
    request,
    requestExample: { artifact_id: ARTIFACT_ID_EXAMPLE, to_agent: "builder" },
    response,
    errors: ["artifact_not_found", "grant_not_found"],
    handle({ input, caller }) {
      return relayDatabase("revoke_grants", {
        caller,
        artifact_id: input.artifact_id ?? null,
        to_agent: input.to_agent ?? null,
        to_tag: input.to_tag ?? null,
        grant_id: input.grant_id ?? null,
      });
    },
  });
}
