import assert from "node:assert/strict";
import {
  type Agent,
  ANON_KEY,
  type Answer,
  assertError,
  createAgent,
  operatorRpc,
  post,
  PUBLISHABLE_KEY,
} from "./client.ts";
import { artifactTest, listed } from "./artifacts.ts";

/** Asks for an agent's list with these headers: refused, or answered. */
function listWith(agent: Agent, headers: Record<string, string>): Promise<Answer> {
  return post("/agent-artifacts/list", { as: { headers }, body: { agent_id: agent.id } });
}

function assertUnauthenticated(answer: Answer): void {
  assertError(answer, 401, "unauthenticated");
  assert.equal(answer.headers.get("www-authenticate"), "Bearer");
}

artifactTest(
  "revoke_agent_key → that key is 401 at once, the agent's other key works on",
  async ({ planner }) => {
    const second = await operatorRpc<{ key: string; key_id: string; agent_id: string }>(
      "create_agent_key",
      { agent_id: planner.id, label: "rotation" },
    );
    assert.match(second.body.key, /^ak_/);
    assert.match(second.body.key_id, /^key_/);
    assert.equal(second.body.agent_id, planner.id);

    const revoked = await operatorRpc("revoke_agent_key", { key_id: planner.keyId });
    assert.deepEqual(revoked.body, { revoked: 1 });
    assertUnauthenticated(await listWith(planner, { authorization: `Bearer ${planner.key}` }));
    const other = await listWith(planner, { authorization: `Bearer ${second.body.key}` });
    assert.equal(other.status, 200);
    assert.deepEqual((await operatorRpc("revoke_agent_key", { key_id: planner.keyId })).body, {
      revoked: 0,
    });
  },
);

artifactTest(
  "revoke_agent_keys → every key of the agent is 401, no other agent's",
  async ({ planner, stranger }) => {
    const second = await operatorRpc<{ key: string }>("create_agent_key", { agent_id: planner.id });
    assert.deepEqual((await operatorRpc("revoke_agent_keys", { agent_id: planner.id })).body, {
      revoked: 2,
    });
    for (const key of [planner.key, second.body.key]) {
      assertUnauthenticated(await listWith(planner, { authorization: `Bearer ${key}` }));
    }
    assert.deepEqual(await listed(stranger), []);
  },
);

artifactTest("an agent key past its expires_at → 401", async ({ planner }) => {
  const expires_at = new Date(Date.now() + 1_000).toISOString();
  const brief = await operatorRpc<{ key: string }>("create_agent_key", {
    agent_id: planner.id,
    expires_at,
  });
  const headers = { authorization: `Bearer ${brief.body.key}` };
  let answer = await listWith(planner, headers);
  for (const end = Date.now() + 10_000; answer.status === 200 && Date.now() < end;) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    answer = await listWith(planner, headers);
  }
  assertUnauthenticated(answer);
});

Deno.test("create_agent_key of a malformed agent_id or a past expires_at → 422, no key", async () => {
  for (const agent_id of ["", "-a", "a b", "a".repeat(129), "ä"]) {
    const answer = await operatorRpc("create_agent_key", { agent_id });
    assert.equal(answer.status, 422, agent_id);
    assert.equal("key" in answer.body, false);
  }
  const past = await operatorRpc("create_agent_key", {
    agent_id: "late",
    expires_at: "2020-01-01T00:00:00Z",
  });
  assert.equal(past.status, 422);
});

Deno.test("create_agent_key and the revoking functions with a publishable key or none → refused", async () => {
  const agent = await createAgent("keyholder");
  const calls = {
    create_agent_key: { agent_id: agent.id },
    revoke_agent_key: { key_id: agent.keyId },
    revoke_agent_keys: { agent_id: agent.id },
  };
  const apikeys = [PUBLISHABLE_KEY, ANON_KEY].filter((key) => key !== undefined);
  for (const headers of [{}, ...apikeys.map((apikey) => ({ apikey }))]) {
    for (const [name, parameters] of Object.entries(calls)) {
      const response = await fetch(new URL(`/rest/v1/rpc/${name}`, Deno.env.get("SUPABASE_URL")), {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(parameters),
      });
      assert.equal([401, 403, 404].includes(response.status), true, `${name}: ${response.status}`);
      assert.equal((await response.text()).includes("ak_"), false);
    }
  }
  assert.deepEqual(await listed(agent), [], "the key still works");
  await operatorRpc("revoke_agent_keys", { agent_id: agent.id });
});
