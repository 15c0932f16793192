import assert from "node:assert/strict";
import { artifactTest, leavesUnchanged, publish } from "../conformance/artifacts.ts";
import {
  type Agent,
  ANON_KEY,
  assertError,
  PUBLISHABLE_KEY,
  SECRET_KEY,
  SERVICE_ROLE_KEY,
} from "../conformance/client.ts";
import { type OwnFunction, startOwnFunction } from "./own_function.ts";

const LEGACY_KEY = SERVICE_ROLE_KEY!;

/** The ways in which a caller that has only the legacy key could send it. */
const WAYS: readonly Readonly<Record<string, string>>[] = [
  { apikey: LEGACY_KEY },
  { authorization: `Bearer ${LEGACY_KEY}` },
  { apikey: LEGACY_KEY, authorization: `Bearer ${LEGACY_KEY}` },
  { apikey: PUBLISHABLE_KEY!, authorization: `Bearer ${LEGACY_KEY}` },
  { apikey: LEGACY_KEY, authorization: `Bearer ${ANON_KEY}` },
];

/** The answers of the function to the same request, sent in each way. */
async function registerInEachWay(own: OwnFunction, agent: Agent) {
  const body = { agent_id: agent.id, key: "k", mime: "text/plain", size: 1, ttl_days: 1 };
  return await Promise.all(
    WAYS.map((headers) => own.post("/register", { as: { headers }, body })),
  );
}

/** The answer of GET /health to these headers. */
async function healthFor(own: OwnFunction, headers: Record<string, string>) {
  const response = await fetch(`${own.process.url}/agent-artifacts/health`, { headers });
  return await response.json();
}

async function statusOfMetrics(own: OwnFunction, headers: Record<string, string>) {
  const response = await fetch(`${own.process.url}/agent-artifacts/metrics`, { headers });
  await response.body?.cancel();
  return response.status;
}

artifactTest(
  "the legacy service_role key where the project has secret keys → 401 in every way, and nothing changes; beside a secret key → it does not count",
  async ({ planner }) => {
    await using own = await startOwnFunction({
      environment: { SUPABASE_SERVICE_ROLE_KEY: LEGACY_KEY, SUPABASE_ANON_KEY: ANON_KEY! },
    });
    await publish(planner);
    await leavesUnchanged([planner], async () => {
      for (const answer of await registerInEachWay(own, planner)) {
        assertError(answer, 401, "unauthenticated");
      }
    });
    for (const headers of WAYS) {
      assert.deepEqual(await healthFor(own, headers), { status: "ok" });
      assert.equal(await statusOfMetrics(own, headers), 401);
    }
    // Supabase's gateways forward the operator's requests in this form.
    const headers = { apikey: SECRET_KEY, authorization: `Bearer ${LEGACY_KEY}` };
    const listed = await own.post("/list", { as: { headers }, body: { agent_id: planner.id } });
    assert.equal(listed.status, 200);
    assert.equal((await healthFor(own, headers)).legacy_key, "refused");
    assert.equal(await statusOfMetrics(own, headers), 200);
  },
);

artifactTest(
  "the legacy service_role key with ACCEPT_LEGACY_KEYS=true, or where it is the project's only one → the operator",
  async ({ planner }) => {
    const environments: readonly [use: string, environment: Record<string, string>][] = [
      ["accepted", { ACCEPT_LEGACY_KEYS: "true" }],
      ["only_key", { SUPABASE_SECRET_KEYS: "{}" }],
      ["only_key", { SUPABASE_SECRET_KEYS: "" }],
    ];
    for (const [use, environment] of environments) {
      await using own = await startOwnFunction({
        environment: {
          SUPABASE_SERVICE_ROLE_KEY: LEGACY_KEY,
          SUPABASE_ANON_KEY: ANON_KEY!,
          SUPABASE_PUBLISHABLE_KEYS: JSON.stringify({ default: PUBLISHABLE_KEY }),
          ...environment,
        },
      });
      for (const headers of WAYS) {
        const body = { agent_id: planner.id };
        const listed = await own.post("/list", { as: { headers }, body });
        assert.equal(listed.status, 200, JSON.stringify(Object.keys(headers)));
        assert.equal((await healthFor(own, headers)).legacy_key, use);
      }
    }
  },
);

Deno.test("ACCEPT_LEGACY_KEYS of another form → 503 misconfigured, with the variable's name", async () => {
  await using own = await startOwnFunction({ environment: { ACCEPT_LEGACY_KEYS: "1" } });
  const answer = await own.post("/list", { as: "operator", body: {} });
  assertError(answer, 503, "misconfigured");
  const { error } = answer.body as { error: { message: string } };
  assert.equal(error.message, "ACCEPT_LEGACY_KEYS must be true or false.");
});
