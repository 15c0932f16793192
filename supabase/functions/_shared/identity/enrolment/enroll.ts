import * as z from "zod";
import { sentAgentId, sentTimestamp } from "../../request/fields.ts";
import { defineOperation, type Operation, type Platform } from "../../operations/operation.ts";
import { sha256Hex } from "../secrets.ts";
import { enrol } from "./agent_key_for_proof.ts";
import { agentName, agentTag, enrolmentId, enrolmentKey, instance, issuerToken } from "./fields.ts";

const request = z.strictObject({
  enrolment_key: enrolmentKey.optional(),
  token: issuerToken.optional(),
  enrolment_id: enrolmentId.optional()
    .meta({ description: "Which enrolment a token is for, if several match it." }),
  agent_name: agentName,
  instance,
}).refine(
  ({ enrolment_key, token }) => (enrolment_key === undefined) !== (token === undefined),
  { path: ["enrolment_key"], message: "Must have either enrolment_key or token." },
);

const response = z.object({
  agent_id: sentAgentId.meta({ description: "Who the agent is." }),
  key: z.string().regex(/^ak_[0-9a-f]{64}$/).meta({
    description: "The agent key, shown once.",
    examples: ["ak_5d41402abc4b2a76b9719d911017c5925d41402abc4b2a76b9719d911017c592"],
  }),
  key_id: z.string().regex(/^key_[0-9a-f]{32}$/).meta({
    description: "Names the agent key.",
    examples: ["key_0c2d4e6f8a1b3c5d7e9f0a2b4c6d8e0f"],
  }),
  expires_at: sentTimestamp.meta({ description: "When the agent key ends." }),
  tags: z.array(agentTag).meta({
    description: "The tags of the agent.",
    examples: [["tag:builder"]],
  }),
  generation: z.int().min(1).max(2_147_483_647).meta({
    description:
      "How often the agent, or this instance of it, has enrolled. The first use of the " +
      "new agent key ends the agent keys of earlier generations.",
    examples: [1],
  }),
  ephemeral_seconds: z.int().min(300).max(2_592_000).nullable().meta({
    description: "How long after its last contact the agent is removed. Null: it is not.",
    examples: [3600],
  }),
});

export function createOperation(platform: Platform): Operation {
  return defineOperation({
    summary: "Get an agent key for a proof of origin: an enrolment key, or an issuer's token.",
    description:
      "If the answer is lost, send the same request again: until an agent key is used, the next " +
      "one replaces it, and nothing is counted twice.",
    tag: "Enrolment",
    callers: "anyone with the proof",
    effect: "renews",
    identification: "none",
    limitedBy: ({ enrolment_key, token, agent_name, instance }) =>
      sha256Hex(`${enrolment_key ?? token} ${agent_name ?? ""} ${instance ?? ""}`),
    isForPrograms: true,
    request,
    requestExample: {
      enrolment_key: "ek_5d41402abc4b2a76b9719d911017c5925d41402abc4b2a76b9719d911017c592",
      agent_name: "builder-1",
    },
    response,
    errors: ["enrolment_refused", "token_replayed", "agent_name_taken", "limit_exceeded"],
    async handle({ input: { enrolment_key, token, enrolment_id, agent_name, instance }, caller }) {
      return await enrol(platform, {
        proof: enrolment_key === undefined ? { token: token!, enrolment_id } : { enrolment_key },
        agentName: agent_name,
        instance,
        requestId: caller.request_id,
      });
    },
  });
}
