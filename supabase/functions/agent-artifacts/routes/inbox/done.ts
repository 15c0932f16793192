import * as z from "zod";
import { subject, timestamp } from "../../../_shared/request/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../../_shared/operations/operation.ts";
import { newGrantToken, newIdentifier, sha256Hex } from "../../../_shared/identity/secrets.ts";
import { artifactId, grantId, note, sentGrantId } from "../../fields.ts";
import type { ArtifactsSettings } from "../../settings.ts";
import { TAKE_ERRORS, takeId } from "../../tasks.ts";

const ONE_TASK = {
  path: ["take_id"],
  message: "Send take_id, or grant_id for a task that was not taken.",
  // Checked even if other fields are bad, so that one answer names all of them.
  when: () => true,
};

const reply = z.strictObject({
  artifact_id: artifactId,
  note: note.optional(),
  expires_at: timestamp.optional()
    .meta({ description: "When the giver's access to it ends. Default: with the artifact." }),
});

export function createOperation(
  { relayDatabase, settings }: Platform<ArtifactsSettings>,
): Operation {
  return defineOperation({
    summary: "Record that a task is done, and grant its giver the file that answers it.",
    description: "Both happen, or neither. The `reply_to` of the new grant is the task's grant. " +
      "Without a take, `grant_id` finishes a task of the caller that nobody has taken, unless its " +
      "`deliver` is `one`. The same request again gets the same answer.",
    tag: "Tasks",
    callers: "the taker",
    effect: "sets",
    identification: "required",
    request: z.strictObject({
      agent_id: subject.meta({ examples: ["builder"] }),
      take_id: takeId.optional(),
      grant_id: grantId.optional(),
      reply: reply.optional().meta({ description: "A committed artifact of the caller." }),
    }).refine(
      (input) => (input.take_id === undefined) !== (input.grant_id === undefined),
      ONE_TASK,
    ),
    requestExample: { take_id: "take_5d2f8e1a7c4b4f0d9e6a3b2c1d0e9f87" },
    response: z.object({
      grant_id: sentGrantId,
      state: z.literal("done").meta({ description: "The task's state from now on." }),
      reply: z.object({ grant_id: sentGrantId }).nullable()
        .meta({ description: "The grant of the reply; null: it was done without one." }),
    }),
    errors: [
      ...TAKE_ERRORS,
      ...["grant_not_found", "artifact_not_found", "artifact_not_committed"] as const,
      "limit_exceeded",
    ],
    handle({ input: { agent_id, take_id, grant_id, reply }, caller }) {
      return relayDatabase("finish_task", {
        caller,
        agent_id: agent_id ?? null,
        take_id: take_id ?? null,
        grant_id: grant_id ?? null,
        ...(reply !== undefined && {
          reply_artifact_id: reply.artifact_id,
          reply_note: reply.note ?? null,
          reply_expires_at: reply.expires_at ?? null,
          reply_grant_id: newIdentifier("grant_"),
          // Nobody gets this token: the giver opens the file with its own credential.
          reply_token_hash: sha256Hex(newGrantToken()),
          max_live_grants: settings.artifactsMaxGrants,
          max_ended_grants: settings.artifactsMaxEndedGrants,
        }),
      });
    },
  });
}
