import * as z from "zod";
import { ServiceError } from "../../request/errors.ts";
import { AGENT_ID } from "../named_ids.ts";
import { defineOperation, type Operation, type Platform } from "../../operations/operation.ts";
import { enrolmentId, enrolmentKey, newEnrolment, sentEnrolment } from "./fields.ts";

const HOUR_IN_MILLISECONDS = 3_600_000;

/** The fields that only an enrolment of kind trust has. */
const OF_TRUST = [
  "issuer",
  "audience",
  "jwks",
  "conditions",
  "max_token_age_seconds",
] as const;

/** The only claim of an enrolment key: the name that the agent asks for. */
const ASKED_NAME = "{agent_name}";

/** The longest template: an identifier has 128 characters, and names must fit, too. */
const MAX_TEMPLATE = 64;

interface Issue {
  readonly path: string;
  readonly message: string;
}

const request = newEnrolment.extend({
  enrolment_id: enrolmentId.optional().meta({
    description: "The trust whose `jwks` to replace. Its agents do not change.",
  }),
});

type PutEnrolment = z.output<typeof request>;

export function createOperation(platform: Platform): Operation {
  return defineOperation({
    summary: "Create an enrolment: which proofs give an agent key, and to which agents.",
    description: "`enrolment_id` and `jwks` together replace the public keys of a trust that has " +
      "`jwks`. `agentops enrolment limit` changes how many agents and bytes an enrolment may " +
      "have. Nothing else of an enrolment ever changes.",
    tag: "Enrolment",
    callers: "the operator",
    effect: "adds",
    identification: "required",
    // Only the operator's tasks call it.
    isUnlisted: true,
    request,
    requestExample: {
      kind: "trust",
      label: "jobs on main",
      issuer: "https://token.actions.githubusercontent.com",
      audience: "https://abc.supabase.co",
      conditions: [
        { claim: "repository_owner_id", equals: "9919" },
        { claim: "ref", equals: "refs/heads/main" },
      ],
      agent_template: "ci-{repository_id}-{run_id}",
      tags: ["tag:ci"],
      ephemeral_seconds: 3600,
    },
    response: sentEnrolment.extend({
      enrolment_key: enrolmentKey.optional()
        .meta({ description: "The enrolment key, shown once. Only if `kind` is `key`." }),
    }),
    errors: [],
    async handle({ input, caller }) {
      const issues = await issuesOf(input, platform);
      if (issues.length > 0) throw new ServiceError("invalid_request", { details: { issues } });
      return await platform.callDatabase("put_enrolment", {
        caller,
        enrolment: input.kind === "key"
          ? {
            ...input,
            uses_left: input.uses_left === undefined ? 1 : input.uses_left,
            expires_at: input.expires_at === undefined
              ? new Date(Date.now() + HOUR_IN_MILLISECONDS).toISOString()
              : input.expires_at,
          }
          : input,
      });
    },
  });
}

function issuesOf(input: PutEnrolment, platform: Platform): Issue[] | Promise<Issue[]> {
  if (input.enrolment_id !== undefined) return issuesOfReplacement(input);
  return input.kind === "key" ? issuesOfKey(input) : issuesOfTrust(input, platform);
}

/** A replacement changes only `jwks`, so every other field is refused. */
async function issuesOfReplacement(input: PutEnrolment): Promise<Issue[]> {
  const { enrolment_id: _, jwks, ...others } = input;
  const unsaid: Record<string, unknown> = newEnrolment.parse({ kind: "trust" });
  const issues = Object.entries(others)
    .filter(([path, value]) => JSON.stringify(value) !== JSON.stringify(unsaid[path]))
    .map(([path]) => ({ path, message: "Cannot be changed. Make another enrolment." }));
  if (jwks === null) return [...issues, { path: "jwks", message: "Required." }];
  const { checkKeys } = await import("../issuers/check_trust.ts");
  return [...issues, ...checkKeys(jwks)];
}

function issuesOfKey(input: PutEnrolment): Issue[] {
  const message = "Only an enrolment of kind `trust` has it.";
  const issues: Issue[] = OF_TRUST.filter((path) => input[path] !== null)
    .map((path) => ({ path, message }));
  if (input.single_use_tokens) issues.push({ path: "single_use_tokens", message });
  const { agent_id, agent_prefix, agent_template, uses_left } = input;
  const names = [agent_id, agent_prefix, agent_template].filter((name) => name !== null);
  if (names.length > 1) {
    issues.push({
      path: "agent_id",
      message: "Give one of agent_id, agent_prefix and agent_template.",
    });
  } else if (names.length === 0 && uses_left !== undefined && uses_left !== 1) {
    issues.push({
      path: "agent_prefix",
      message:
        "Required: with an enrolment key for more than one use, an agent could take any free name.",
    });
  }
  if (agent_template !== null && !isTemplateOfKey(agent_template)) {
    issues.push({
      path: "agent_template",
      message:
        "Must be of A-Z a-z 0-9 . _ : @ - and contain {agent_name} once, such as builder-{agent_name}.",
    });
  }
  return issues;
}

async function issuesOfTrust(input: PutEnrolment, platform: Platform): Promise<Issue[]> {
  const { issuer, audience, jwks, conditions, agent_id, agent_template } = input;
  const required = Object.entries({ issuer, audience, conditions })
    .flatMap(([path, value]) => value === null ? [{ path, message: "Required." }] : []);
  if ((agent_id === null) === (agent_template === null)) {
    required.push({ path: "agent_id", message: "Give either agent_id or agent_template." });
  }
  for (const path of ["uses_left", "agent_prefix"] as const) {
    if (input[path] != null) {
      required.push({ path, message: "Only an enrolment of kind `key` has it." });
    }
  }
  if (required.length > 0) return required;
  const [{ checkTrust }, { allowsLoopback }] = await Promise.all([
    import("../issuers/check_trust.ts"),
    import("./agent_key_for_token.ts"),
  ]);
  const allowLoopback = allowsLoopback(platform);
  return checkTrust({
    issuer: issuer!,
    audience: audience!,
    jwks,
    conditions: conditions!,
    agent_id,
    agent_template,
  }, { allowLoopback });
}

/** Whether what surrounds the name makes every name begin with a prefix of the operator's. */
function isTemplateOfKey(template: string): boolean {
  const [prefix, suffix, ...others] = template.split(ASKED_NAME);
  return template.length <= MAX_TEMPLATE && others.length === 0 &&
    prefix !== "" && suffix !== undefined && AGENT_ID.test(`${prefix}${suffix}`);
}
