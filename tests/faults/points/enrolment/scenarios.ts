/** The requests of agents and of the operator about enrolments, to either function. */
import assert from "node:assert/strict";
import { type Agent, type Answer, operatorRpc, succeed } from "../../../conformance/client.ts";
import {
  agentOf,
  enrol,
  type Enrolment,
  newName,
  put,
  revokeAll,
  use,
  whoami,
} from "../../../conformance/enrolment/enrolments.ts";
import { Issuer } from "../../../conformance/enrolment/issuer.ts";
import { withStackDatabase } from "../../../database/connection.ts";
import type { FunctionName, Scenario } from "../scenario.ts";

const AUDIENCE = "https://agents.example.com";

async function assertOneLiveKey(agent_id: string): Promise<void> {
  const { body } = await operatorRpc<{ live_keys: number }>("read_agent", { agent_id });
  assert.equal(body.live_keys, 1);
}

async function putTrust(): Promise<{ issuer: Issuer; enrolment_id: string }> {
  const issuer = await Issuer.create(`https://${newName("issuer")}.example.com`);
  const { enrolment_id } = await put({
    ...{ kind: "trust", issuer: issuer.url, audience: AUDIENCE, jwks: issuer.jwks as never },
    ...{ conditions: [{ claim: "sub", prefix: "new-run" }], agent_template: "{sub}" },
    single_use_tokens: true,
  });
  return { issuer, enrolment_id };
}

async function listedEnrolments(): Promise<Enrolment[]> {
  const { enrolments } = await succeed<{ enrolments: Enrolment[] }>(
    "/agent-artifacts/enrolment/list",
    { as: "operator", body: { limit: 1000 } },
  );
  return enrolments;
}

/** An agent that enrolled again. Its second agent key is not used yet. */
async function secondGeneration(): Promise<{ first: Agent; second: Agent }> {
  const { enrolment_key } = await put({ uses_left: null });
  const agent_name = newName("vm");
  const first = await enrol({ enrolment_key, agent_name });
  await use(first);
  return { first: agentOf(first), second: agentOf(await enrol({ enrolment_key, agent_name })) };
}

/** Converts an OAuth error (RFC 6749, 5.2) of /enroll into the service's own form. */
function unwrapOAuthError({ status, headers, body }: Answer<unknown>): Answer<unknown> {
  const { error } = body as { error?: string };
  if (error === undefined) return { status, headers, body };
  const code = error === "temporarily_unavailable" ? "upstream_unavailable" : error;
  return { status, headers, body: { error: { code } } };
}

function scenariosOf(functionName: FunctionName): Scenario[] {
  return [
    {
      functionName,
      path: "/enroll",
      situation: "by an enrolment key of one use",
      settled: ["200"],
      async arrange() {
        const { enrolment_key } = await put();
        const agent_name = newName("vm");
        return {
          request: { as: "nobody", body: { enrolment_key, agent_name } },
          holds: () => assertOneLiveKey(agent_name),
        };
      },
    },
    {
      functionName,
      path: "/enroll",
      situation: "by a single-use token",
      settled: ["200"],
      async arrange() {
        const { issuer } = await putTrust();
        const sub = newName("run");
        const token = await issuer.sign({ aud: AUDIENCE, sub });
        return {
          request: { as: "nobody", body: { token } },
          holds: () => assertOneLiveKey(sub),
        };
      },
    },
    {
      functionName,
      path: "/enroll",
      situation: "by a token that no condition takes",
      settled: ["401 enrolment_refused"],
      async arrange() {
        const { issuer } = await putTrust();
        return {
          request: {
            as: "nobody",
            body: { token: await issuer.sign({ aud: AUDIENCE, sub: "other" }) },
          },
        };
      },
    },
    {
      functionName,
      path: "/token",
      settled: ["200"],
      unwrap: unwrapOAuthError,
      async arrange() {
        const { issuer } = await putTrust();
        const sub = newName("run");
        const body = new URLSearchParams({
          grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
          assertion: await issuer.sign({ aud: AUDIENCE, sub }),
        });
        return { request: { as: "nobody", body }, holds: () => assertOneLiveKey(sub) };
      },
    },
    {
      functionName,
      path: "/whoami",
      situation: "by a new generation",
      settled: ["200"],
      async arrange() {
        const { first, second } = await secondGeneration();
        return {
          request: { method: "GET", as: second },
          async holds() {
            // If this request could not record the first use, the next request does.
            assert.equal((await whoami(second)).status, 200);
            assert.equal((await whoami(first)).status, 401);
          },
        };
      },
    },
    {
      functionName,
      path: "/leave",
      // An agent that has left has no agent key to repeat the request with.
      settled: ["200", "401 unauthenticated"],
      async arrange() {
        const { second } = await secondGeneration();
        await use({ agent_id: second.id, key: second.key, key_id: second.keyId } as never);
        return {
          request: { as: second },
          holds: async () => assert.equal((await whoami(second)).status, 401),
        };
      },
    },
    {
      functionName,
      path: "/enrolment/put",
      settled: ["200"],
      arrange() {
        const label = newName("label");
        return Promise.resolve({
          request: { as: "operator", body: { kind: "key", label } },
          async holds() {
            const made = (await listedEnrolments()).filter((one) => one["label"] === label);
            assert.ok(made.length > 0);
            for (const { enrolment_id } of made) await revokeAll(enrolment_id);
          },
        });
      },
    },
    {
      functionName,
      path: "/enrolment/list",
      settled: ["200"],
      arrange: () => Promise.resolve({ request: { as: "operator", body: { limit: 1 } } }),
    },
    {
      functionName,
      path: "/enrolment/test",
      settled: ["200"],
      async arrange() {
        const { issuer } = await putTrust();
        const token = await issuer.sign({ aud: AUDIENCE, sub: "run" });
        return { request: { as: "operator", body: { token } } };
      },
    },
    {
      functionName,
      path: "/enrolment/revoke",
      settled: ["200"],
      async arrange() {
        const { enrolment_key, enrolment_id } = await put({ uses_left: null });
        const agents = await Promise.all(
          ["a", "b"].map((name) => enrol({ enrolment_key, agent_name: newName(name) })),
        );
        return {
          request: { as: "operator", body: { enrolment_id } },
          async holds() {
            for (const agent of agents) assert.equal((await whoami(agent)).status, 401);
            assert.equal((await revokeAll(enrolment_id)).remaining, 0);
          },
        };
      },
    },
  ];
}

/** An ephemeral agent that the next sweep ends. */
export async function goneAgent(): Promise<Agent> {
  const { enrolment_key } = await put({ ephemeral_seconds: 300 });
  const gone = await enrol({ enrolment_key, agent_name: newName("gone") });
  await withStackDatabase((sql) =>
    sql`update agents.enrolled_agents
      set enrolled_at = now() - interval '1 day', due_at = now() - interval '1 hour'
      where agent_id = ${gone.agent_id}`
  );
  return agentOf(gone);
}

export const ENROLMENT_SCENARIOS: readonly Scenario[] = [
  ...scenariosOf("agent-artifacts"),
  ...scenariosOf("agent-mesh"),
];
