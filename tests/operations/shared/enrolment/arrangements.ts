/** States in which the fault scenarios of enrolments begin, and what holds at their end. */
import assert from "node:assert/strict";
import { type Agent, operatorRpc, succeed } from "../../../conformance/client.ts";
import {
  agentOf,
  enrol,
  type Enrolment,
  newName,
  put,
  use,
} from "../../../conformance/enrolment/enrolments.ts";
import { Issuer } from "../../../conformance/enrolment/issuer.ts";

export const AUDIENCE = "https://agents.example.com";

export async function assertOneLiveKey(agent_id: string): Promise<void> {
  const { body } = await operatorRpc<{ live_keys: number }>("read_agent", { agent_id });
  assert.equal(body.live_keys, 1);
}

export async function putTrust(): Promise<{ issuer: Issuer; enrolment_id: string }> {
  const issuer = await Issuer.create(`https://${newName("issuer")}.example.com`);
  const { enrolment_id } = await put({
    kind: "trust",
    issuer: issuer.url,
    audience: AUDIENCE,
    jwks: issuer.jwks as never,
    conditions: [{ claim: "sub", prefix: "new-run" }],
    agent_template: "{sub}",
    single_use_tokens: true,
  });
  return { issuer, enrolment_id };
}

export async function listedEnrolments(): Promise<Enrolment[]> {
  const { enrolments } = await succeed<{ enrolments: Enrolment[] }>(
    "/agent-artifacts/enrolment/list",
    { as: "operator", body: { limit: 1000 } },
  );
  return enrolments;
}

/** An agent that enrolled again. Its second agent key is not used yet. */
export async function secondGeneration(): Promise<{ first: Agent; second: Agent }> {
  const { enrolment_key } = await put({ uses_left: null });
  const agent_name = newName("vm");
  const first = await enrol({ enrolment_key, agent_name });
  await use(first);
  return { first: agentOf(first), second: agentOf(await enrol({ enrolment_key, agent_name })) };
}
