import * as z from "zod";
import { defineOperation, type Operation, type Platform } from "../../operations/operation.ts";
import { enrolmentId, issuer, issuerToken } from "./fields.ts";

const request = z.strictObject({
  token: issuerToken.optional(),
  issuer: issuer.optional(),
  claims: z.record(z.string(), z.unknown()).optional()
    .meta({ description: "The claims that a token would have.", examples: [{ ref: "main" }] }),
}).refine(
  ({ token, issuer, claims }) =>
    token === undefined ? issuer !== undefined && claims !== undefined : !(issuer ?? claims),
  { path: ["token"], message: "Must have either token, or issuer and claims." },
);

const response = z.object({
  matches: z.array(enrolmentId).meta({ description: "The enrolments that would accept it." }),
  refused: z.array(z.object({
    enrolment_id: enrolmentId.nullable()
      .meta({ description: "Null: refused before any enrolment was looked at." }),
    reason: z.string().meta({ examples: ["claim_differs"] }),
    claim: z.string().optional().meta({ examples: ["ref"] }),
    detail: z.string().optional().meta({
      description: "Which URL was asked and what came, or which keys the issuer has.",
      examples: ["Its keys, https://issuer.example.com/keys: answered with status 404."],
    }),
  })),
});

export function createOperation(platform: Platform): Operation {
  return defineOperation({
    summary: "Try which enrolments would accept a token, and why others would not.",
    description: "A dry run: it enrols no agent and writes no event.",
    tag: "Enrolment",
    callers: "the operator",
    effect: "reads",
    identification: "required",
    // Only the operator's tasks call it.
    isUnlisted: true,
    request,
    requestExample: {
      issuer: "https://token.actions.githubusercontent.com",
      claims: { repository_owner_id: "9919", ref: "refs/heads/main" },
    },
    response,
    errors: [],
    async handle({ input: { token, issuer, claims }, caller }) {
      await platform.callDatabase("check_operator", { caller });
      const { testClaims, testToken } = await import("./matching_enrolments.ts");
      return token === undefined
        ? await testClaims(platform, issuer!, claims!)
        : await testToken(platform, token);
    },
  });
}
