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
  DELIVERIES,
  grantId,
  maxDownloads,
  namesOneGrantee,
  note,
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
  token: sentGrantToken.nullable().meta({
    description:
      "For /fetch and for the link /d/<token>. Anyone who has it can download the file. " +
      "It is never shown again: null if the answer is `repeated`.",
  }),
  repeated: z.literal(true).optional().meta({
    description: "An earlier request with this `idempotency_key` made the grant. Its token stays " +
      "valid. Missing: this request made it.",
  }),
  unknown_recipient: z.literal(true).optional().meta({
    description: "Nobody has had the name `to_agent` so far: check its spelling.",
  }),
}).meta({ id: "Grant" });

type Granted = Omit<z.output<typeof response>, "token">;

const IDEMPOTENCY_RULE = "Must be 1 to 64 of A-Z a-z 0-9 _ -.";
const idempotencyKey = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, IDEMPOTENCY_RULE).meta({
  description: "For 24 hours, the same request with this key makes no second grant.",
  examples: ["plan-17"],
});

const ATTEMPTS_RULE = "Must be a whole number from 1 to 100.";
const maxAttempts = z.int(ATTEMPTS_RULE).min(1, ATTEMPTS_RULE).max(100, ATTEMPTS_RULE).meta({
  description: "After how many failed attempts its task is parked. Default: 5.",
  examples: [5],
});

/** What only some grants say: it is sent to the database only if the request has it. */
function handOver(
  { note, reply_to, deliver, max_attempts, idempotency_key, known_only }: z.output<typeof request>,
) {
  return {
    ...(note !== undefined && { note }),
    ...(reply_to !== undefined && { reply_to }),
    ...(deliver === "one" && { is_shared: true }),
    ...(max_attempts !== undefined && { max_attempts }),
    ...(idempotency_key !== undefined && { idempotency_key }),
    ...(known_only && { known_only }),
  };
}

const request = z.strictObject({
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
  note: note.optional(),
  reply_to: grantId.optional().meta({
    description: "A grant that the caller gave or received, and that this one answers.",
  }),
  deliver: z.enum(DELIVERIES).optional().meta({
    description: "With `to_tag`: `one` if exactly one of the agents is to work on it. Default: " +
      "`each` of them.",
    examples: ["one"],
  }),
  max_attempts: maxAttempts.optional(),
  idempotency_key: idempotencyKey.optional(),
  known_only: z.boolean().optional().meta({
    description: "Whether to refuse a `to_agent` whose name nobody has had so far. Default: false.",
    examples: [true],
  }),
}).refine(namesOneGrantee, ONE_GRANTEE).refine(
  ({ deliver, to_tag }) => deliver !== "one" || to_tag !== undefined,
  { path: ["deliver"], message: "Must be each, unless to_tag is sent.", when: () => true },
);

export function createOperation(
  { callDatabase, settings }: Platform<ArtifactsSettings>,
): Operation {
  return defineOperation({
    summary:
      "Give another agent, every agent with a tag, or anyone with the link, access to an artifact " +
      "until a given time.",
    description: "The agent finds the grant in its /inbox and opens it with its own agent key. " +
      "With `to_tag`, so does every agent that has the tag at the moment of its request, an agent " +
      "that gets the tag later has access from then on, and one that loses it has none any more. " +
      "The token gives access to somebody without an agent key: a program sends it to /fetch, a " +
      "person opens the link /d/<token>. Without `to_agent` and `to_tag`, the token is the only access.",
    tag: "Grants",
    callers: "the owner",
    effect: "adds",
    identification: "required",
    request,
    response,
    errors: [
      ...["artifact_not_found", "artifact_not_committed", "artifact_expired"] as const,
      ...["limit_exceeded", "grant_not_found", "idempotency_conflict"] as const,
    ],
    async handle({ input, caller }) {
      const token = newGrantToken();
      const granted = await callDatabase<Granted>("grant_artifact", {
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
        ...handOver(input),
      });
      return { ...granted, token: granted.repeated ? null : token };
    },
  });
}
