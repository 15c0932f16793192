import * as z from "zod";
import { ServiceError } from "../errors.ts";
import { defineOperation, type Operation, type Platform } from "../operations/operation.ts";
import { enrolmentKey, newEnrolment, sentEnrolment } from "./fields.ts";

const HOUR_IN_MILLISECONDS = 3_600_000;

/** What only one of the kinds has. */
const OF_TRUST = [
  "issuer",
  "audience",
  "jwks",
  "conditions",
  "agent_template",
  "max_token_age_seconds",
] as const;

interface Issue {
  readonly path: string;
  readonly message: string;
}

type NewEnrolment = z.output<typeof newEnrolment>;

export function createOperation(platform: Platform): Operation {
  return defineOperation({
    summary: "Make an enrolment: by which proof agents get a key, and which agents they are.",
    description: "An enrolment never changes. To change one, make another, then revoke the first.",
    tag: "Enrolment",
    callers: "the operator",
    effect: "adds",
    identification: "required",
    // The operator's tasks ask it.
    isUnlisted: true,
    request: newEnrolment,
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
        .meta({ description: "Of kind key, and shown once." }),
    }),
    errors: [],
    async handle({ input, caller }) {
      const issues = input.kind === "key"
        ? issuesOfKey(input)
        : await issuesOfTrust(input, platform);
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

function issuesOfKey(input: NewEnrolment): Issue[] {
  const message = "Belongs to kind trust.";
  const issues = OF_TRUST.filter((path) => input[path] !== null)
    .map((path) => ({ path, message }));
  return input.single_use_tokens ? [...issues, { path: "single_use_tokens", message }] : issues;
}

async function issuesOfTrust(input: NewEnrolment, platform: Platform): Promise<Issue[]> {
  const { issuer, audience, jwks, conditions, agent_id, agent_template } = input;
  const required = Object.entries({ issuer, audience, conditions })
    .flatMap(([path, value]) => value === null ? [{ path, message: "Required." }] : []);
  if ((agent_id === null) === (agent_template === null)) {
    required.push({ path: "agent_id", message: "Give either agent_id or agent_template." });
  }
  if (input.uses_left != null) {
    required.push({ path: "uses_left", message: "Belongs to kind key." });
  }
  if (required.length > 0) return required;
  const [{ checkTrust }, { allowsLoopback }] = await Promise.all([
    import("../issuers/check_trust.ts"),
    import("./enrol_with_token.ts"),
  ]);
  const allowLoopback = allowsLoopback(platform);
  return checkTrust({
    ...{ issuer: issuer!, audience: audience!, jwks, conditions: conditions! },
    ...{ agent_id, agent_template },
  }, { allowLoopback });
}
