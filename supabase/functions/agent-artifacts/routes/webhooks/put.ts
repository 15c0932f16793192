import * as z from "zod";
import { agentTag } from "../../../_shared/identity/enrolment/fields.ts";
import { ServiceError } from "../../../_shared/request/errors.ts";
import {
  agentId,
  isStorable,
  sentAgentId,
  sentTimestamp,
} from "../../../_shared/request/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../../_shared/operations/operation.ts";
import type { ArtifactsSettings } from "../../settings.ts";
import { targetComplaint } from "../../webhooks/send.ts";
import { makeSigningSecret, readEncryptionKeys } from "../../webhooks/signing.ts";

const DAY_IN_SECONDS = 86_400;

const webhookId = z.string()
  .regex(/^whk_[0-9a-f]{32}$/, "Must be a webhook_id: whk_ and 32 hexadecimal digits.")
  .meta({ description: "A webhook.", examples: ["whk_0c2d4e6f8a1b3c5d7e9f0a2b4c6d8e0f"] });

const eventType = z.string().max(64).regex(
  /^[a-z_]+\.[a-z_]+$/,
  "Must be a type of events, such as grant.created.",
).meta({ description: "A type of events.", examples: ["grant.created"] });

const url = z.string().max(2048, "Must have at most 2,048 characters.")
  .meta({ description: "Where events are sent.", examples: ["https://hooks.example.com/agents"] });

const label = z.string().min(1, "Must not be empty.").max(200, "Must have at most 200 characters.")
  .refine(isStorable, "Must be well-formed Unicode, without U+0000 and lone surrogates.")
  .meta({ description: "For people.", examples: ["the ticket system"] });

const types = z.array(eventType).min(1).max(100)
  .meta({ description: "Only events of these types. Default: every type." });

const request = z.strictObject({
  url: url.optional(),
  label: label.optional(),
  agent_id: agentId.optional()
    .meta({ description: "Only events that concern this agent.", examples: ["planner"] }),
  tag: agentTag.optional()
    .meta({ description: "Only events that concern an agent with this tag." }),
  types: types.optional(),
  webhook_id: webhookId.optional().meta({
    description: "The webhook that gets another secret. Without it, a webhook is created.",
  }),
  overlap_seconds: z.int().min(0).max(7 * DAY_IN_SECONDS).optional().meta({
    description: "How long the secret before also signs. Default: a day.",
    examples: [DAY_IN_SECONDS],
  }),
});

type PutWebhook = z.output<typeof request>;

const response = z.object({
  webhook_id: webhookId,
  url,
  label: label.nullable(),
  agent_id: sentAgentId.nullable(),
  tag: agentTag.nullable(),
  types: types.nullable(),
  created_at: sentTimestamp,
  previous_secret_until: sentTimestamp.nullable()
    .meta({ description: "Until when the secret before also signs. Null: it does not." }),
  ended_at: sentTimestamp.nullable(),
  end_reason: z.enum(["deleted", "gone", "erased"]).nullable(),
  secret: z.string().regex(/^whsec_[A-Za-z0-9+/]{43}=$/).meta({
    description: "Verifies the signatures. Shown once.",
    examples: ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="],
  }),
});

export function createOperation(
  { callDatabase, settings }: Platform<ArtifactsSettings>,
): Operation {
  return defineOperation({
    summary: "Create a webhook, or give one another secret.",
    tag: "Webhooks",
    callers: "the operator",
    effect: "adds",
    identification: "required",
    // Only the operator's tasks call it.
    isUnlisted: true,
    request,
    requestExample: { url: "https://hooks.example.com/agents", types: ["grant.created"] },
    response,
    errors: ["limit_exceeded"],
    async handle({ input, caller }) {
      const issues = issuesOf(input, settings);
      if (issues.length > 0) throw new ServiceError("invalid_request", { details: { issues } });
      const encryptionKeys = readEncryptionKeys(settings.pskEncryptionKeysText);
      const { overlap_seconds = DAY_IN_SECONDS, ...named } = input;
      const webhook_id = input.webhook_id ?? `whk_${crypto.randomUUID().replaceAll("-", "")}`;
      const { secret, encrypted_secret } = makeSigningSecret(webhook_id, encryptionKeys);
      const made = input.webhook_id === undefined
        ? await callDatabase<z.output<typeof response>>("create_webhook", {
          caller,
          webhook: { ...named, webhook_id, encrypted_secret },
        })
        : await callDatabase<z.output<typeof response>>("rotate_webhook", {
          caller,
          webhook_id,
          encrypted_secret,
          overlap_seconds,
        });
      return { ...made, secret };
    },
  });
}

function issuesOf(
  { webhook_id, overlap_seconds, ...fields }: PutWebhook,
  settings: ArtifactsSettings,
): { readonly path: string; readonly message: string }[] {
  if (webhook_id !== undefined) {
    return Object.keys(fields)
      .map((path) => ({ path, message: "Cannot be changed. Create another webhook." }));
  }
  const issues = [];
  if (overlap_seconds !== undefined) {
    issues.push({ path: "overlap_seconds", message: "Goes with webhook_id alone." });
  }
  if (fields.agent_id !== undefined && fields.tag !== undefined) {
    issues.push({ path: "tag", message: "Give agent_id or tag, not both." });
  }
  const complaint = fields.url === undefined ? "Required." : targetComplaint(fields.url, settings);
  if (complaint !== null) issues.push({ path: "url", message: complaint });
  return issues;
}
