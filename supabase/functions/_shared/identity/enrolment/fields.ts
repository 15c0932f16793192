/** The fields of enrolments, in requests and answers. */
import * as z from "zod";
import {
  agentId,
  isStorable,
  sentAgentId,
  sentTimestamp,
  tag,
  timestamp,
} from "../../request/fields.ts";
import { MOST_KEYS } from "../issuers/trust.ts";

export const agentTag = tag
  .meta({ description: "A tag of an agent.", examples: ["tag:builder"] });

export const enrolmentId = z.string()
  .regex(/^enr_[0-9a-f]{32}$/, "Must be an enrolment_id: enr_ and 32 hexadecimal digits.")
  .meta({ description: "An enrolment.", examples: ["enr_0c2d4e6f8a1b3c5d7e9f0a2b4c6d8e0f"] });

/** The secret of an enrolment of kind key. It is shown once. */
export const enrolmentKey = z.string()
  .regex(/^ek_[0-9a-f]{64}$/, "Must be an enrolment key: ek_ and 64 hexadecimal digits.")
  .meta({
    description: "The secret of an enrolment.",
    examples: ["ek_5d41402abc4b2a76b9719d911017c5925d41402abc4b2a76b9719d911017c592"],
  });

/** A JWT of an issuer. `verifyToken` finds out what is wrong with it. */
export const issuerToken = z.string().min(1).max(16_384, "Must have at most 16,384 characters.")
  .meta({ description: "A token of an issuer that the operator trusts.", examples: ["eyJhbGci…"] });

export const agentName = agentId.optional().meta({
  description: "The agent's name, if the enrolment does not name it.",
  examples: ["builder-1"],
});

export const instance = z.string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, "Must be 1 to 64 of A-Z a-z 0-9 _ -.")
  .optional().meta({
    description:
      "Which of several instances of the agent this is, if the enrolment allows several.",
    examples: ["web-1"],
  });

const between = (least: number, most: number) => {
  const rule = `Must be a whole number from ${least} to ${most}.`;
  return z.int(rule).min(least, rule).max(most, rule);
};

const storableText = z.string()
  .refine(isStorable, "Must be well-formed Unicode, without U+0000 and lone surrogates.");

const text = (most: number) =>
  storableText.min(1, "Must not be empty.").max(most, `Must have at most ${most} characters.`);

const condition = z.strictObject({
  claim: text(256).meta({
    description: "The name of a claim; with a leading slash, the path of a nested one.",
    examples: ["repository_owner_id"],
  }),
  equals: z.union([text(1024), z.int(), z.boolean()]).optional()
    .meta({ description: "What the claim must be.", examples: ["9919"] }),
  prefix: text(1024).optional().meta({ description: "What the claim must begin with." }),
}).refine(
  ({ equals, prefix }) => (equals === undefined) !== (prefix === undefined),
  "Must have either equals or prefix.",
);

/** Registered members of a JWK are not nested deeper (RFC 7517, 4). */
const publicKey = z.record(
  storableText,
  z.union(
    [storableText, z.number(), z.boolean(), z.array(storableText)],
    "Must be a string, a number, a boolean or a list of strings.",
  ),
);

export const issuer = text(512).meta({
  description: "Exactly as it stands in `iss`.",
  examples: ["https://token.actions.githubusercontent.com"],
});

const RULES = {
  label: text(128).meta({ description: "For people.", examples: ["builders in eu"] }),
  audience: text(512).meta({
    description: "The required `aud`.",
    examples: ["https://abc.supabase.co"],
  }),
  jwks: z.object({ keys: z.array(publicKey).min(1).max(MOST_KEYS) }).meta({
    description: "The issuer's public keys. Null: fetched from the issuer.",
  }),
  conditions: z.array(condition).min(1).max(32).meta({
    description: "All must hold.",
  }),
  agent_template: text(512).meta({
    description: "The agent's name, with claims in braces. Of an enrolment key: with " +
      "`{agent_name}`, the name that the agent asks for.",
    examples: ["ci-{repository_id}-{run_id}"],
  }),
  agent_prefix: agentId.max(64, "Must have at most 64 characters.").meta({
    description: "What the names of an enrolment key's agents begin with.",
    examples: ["builder-"],
  }),
  session_seconds: between(60, 86_400).meta({
    description: "How long an agent key from this enrolment is valid.",
    examples: [3600],
  }),
  ephemeral_seconds: between(300, 2_592_000).meta({
    description:
      "How long after its last contact the sweep removes an agent. Null: it is never removed.",
    examples: [3600],
  }),
  max_token_age_seconds: between(30, 86_400).meta({
    description: "How old a token may be, by its `iat`.",
    examples: [600],
  }),
  max_agents: between(1, 100_000).meta({
    description: "How many of its agents may exist at a time. One that has ended does not count.",
    examples: [1000],
  }),
  max_instances: between(1, 100).meta({
    description: "How many instances of one agent may have live agent keys at a time.",
    examples: [1],
  }),
  quota_bytes: z.int().min(0).meta({
    description: "How many bytes its agents' files may have together; 0: any number. Null: ten " +
      "times the project's quota for one agent.",
    examples: [50_000_000_000],
  }),
  uses: z.int().min(1).max(1_000_000).meta({
    description: "How many enrolments. Null: any number.",
    examples: [1],
  }),
};

const tags = z.array(agentTag).max(32, "Must be at most 32 tags.");

/** What /enrolment/put takes. `checkTrust` decides whether a trust is safe. */
export const newEnrolment = z.strictObject({
  kind: z.enum(["key", "trust"]),
  label: RULES.label.nullable().default(null),
  issuer: issuer.nullable().default(null),
  audience: RULES.audience.nullable().default(null),
  jwks: RULES.jwks.nullable().default(null),
  conditions: RULES.conditions.nullable().default(null),
  agent_id: agentId.nullable().default(null),
  agent_template: RULES.agent_template.nullable().default(null),
  agent_prefix: RULES.agent_prefix.nullable().default(null).meta({
    description: "What the names of an enrolment key's agents begin with. An enrolment key for " +
      "more than one use needs it, or `agent_template`, or `agent_id`.",
  }),
  tags: tags.default([]),
  uses_left: RULES.uses.nullable().optional().meta({
    description: "How many enrolments by an enrolment key. Null: any number. Default: 1.",
    examples: [1],
  }),
  session_seconds: RULES.session_seconds.default(3600),
  ephemeral_seconds: RULES.ephemeral_seconds.nullable().default(null),
  single_use_tokens: z.boolean().default(false)
    .meta({ description: "Whether a token enrols once. Its `jti` tells tokens apart." }),
  max_token_age_seconds: RULES.max_token_age_seconds.nullable().default(null),
  max_agents: RULES.max_agents.default(1000),
  max_instances: RULES.max_instances.default(1),
  quota_bytes: RULES.quota_bytes.nullable().default(null),
  expires_at: timestamp.nullable().optional().meta({
    description:
      "When it ends. Null: never. Default: for an enrolment key in an hour, otherwise never.",
  }),
});

/** An enrolment as the operator sees it. */
export const sentEnrolment = z.object({
  enrolment_id: enrolmentId,
  kind: z.enum(["key", "trust"]).meta({ examples: ["trust"] }),
  label: RULES.label.nullable(),
  issuer: issuer.nullable(),
  audience: RULES.audience.nullable(),
  jwks: RULES.jwks.nullable(),
  conditions: z.array(condition).nullable().meta({
    examples: [[{ claim: "repository_owner_id", equals: "9919" }]],
  }),
  agent_id: sentAgentId.nullable(),
  agent_template: RULES.agent_template.nullable(),
  agent_prefix: RULES.agent_prefix.nullable().optional(),
  tags,
  uses_left: z.int().min(0).nullable().meta({ examples: [null] }),
  session_seconds: RULES.session_seconds,
  ephemeral_seconds: RULES.ephemeral_seconds.nullable(),
  single_use_tokens: z.boolean(),
  max_token_age_seconds: RULES.max_token_age_seconds.nullable(),
  max_agents: RULES.max_agents,
  max_instances: RULES.max_instances,
  quota_bytes: RULES.quota_bytes.nullable().optional(),
  created_at: sentTimestamp,
  expires_at: sentTimestamp.nullable(),
  revoked_at: sentTimestamp.nullable().meta({ examples: [null] }),
}).meta({ id: "Enrolment" });
