import * as z from "zod";
import { agentId } from "../../_shared/request/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import { createDownloads, download } from "../download.ts";
import { ARTIFACT_ID_EXAMPLE, artifactId, key, version } from "../fields.ts";
import type { ArtifactsSettings } from "../settings.ts";

const request = z.strictObject({
  artifact_id: artifactId.optional(),
  key: key.optional(),
  agent_id: agentId.optional()
    .meta({ description: "With `key`: the agent that owns the file. Default: the caller." }),
  version: version.optional().meta({
    description: "With `key`: which version of the file. Default: the current one.",
    examples: [3],
  }),
  max_size: z.int().min(0).optional().meta({
    description: "In bytes. A larger file is refused, which does not count as a download.",
  }),
})
  .refine((input) => input.artifact_id !== undefined || input.key !== undefined, {
    path: ["artifact_id"],
    message: "Required, unless key is given.",
    // Checked even if other fields are bad, so that one answer names all of them.
    when: () => true,
  })
  .refine((input) => input.artifact_id === undefined || input.key === undefined, {
    path: ["key"],
    message: "Must not be sent together with artifact_id.",
    when: () => true,
  })
  .refine((input) => input.version === undefined || input.key !== undefined, {
    path: ["version"],
    message: "Must not be sent without key.",
    when: () => true,
  });

export function createOperation(platform: Platform<ArtifactsSettings>): Operation {
  const { open } = createDownloads(platform);
  return defineOperation({
    summary: "Get a short-lived download URL with your own credential.",
    description:
      "Send `artifact_id`, or the file's name (`key`) for the current artifact of that " +
      "name: your own, or with `agent_id` another agent's. If another version replaced the one that you may open, the " +
      "error has `details.replaced`, with the versions that you may still open. If all your grants of it have " +
      "`max_downloads`, every answer counts. An owner's downloads do not count.",
    operationId: "openArtifact",
    tag: "Artifacts",
    callers: "the owner, agents with a live grant",
    // It adds to the download count of a grant that has `max_downloads`.
    effect: "adds",
    identification: "required",
    request,
    requestExample: { artifact_id: ARTIFACT_ID_EXAMPLE },
    response: download,
    errors: [
      "artifact_not_found",
      "artifact_not_committed",
      "limit_exceeded",
      "artifact_expired",
      "artifact_lost",
      "grant_used_up",
    ],
    handle: ({ input, ...asking }) =>
      open({
        artifact_id: input.artifact_id ?? null,
        key: input.key ?? null,
        agent_id: input.agent_id ?? null,
        ...(input.version !== undefined && { version: input.version }),
        ...(input.max_size !== undefined && { max_size: input.max_size }),
      }, asking),
  });
}
