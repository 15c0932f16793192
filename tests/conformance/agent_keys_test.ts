import assert from "node:assert/strict";
import { artifactTest, listed, secondsFromNow } from "./artifacts.ts";
import { askUntil } from "./ask_until.ts";
import { ANON_KEY, createAgent, operatorRpc, PUBLISHABLE_KEY, SUPABASE_URL } from "./client.ts";
import { assertUnauthenticated, listWith } from "./credentials.ts";

artifactTest(
  "revoke_agent_key → that key is 401 at once, the agent's other key still works",
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
  "revoke_agent_keys → every key of that agent is 401, and no other agent's",
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

artifactTest("/list with an agent key past its expires_at → 401", async ({ planner }) => {
  const brief = await operatorRpc<{ key: string }>("create_agent_key", {
    agent_id: planner.id,
    expires_at: secondsFromNow(4),
  });
  const headers = { authorization: `Bearer ${brief.body.key}` };
  assertUnauthenticated(
    await askUntil(({ status }) => status !== 200, () => listWith(planner, headers)),
  );
});

artifactTest(
  "create_agent_key of a malformed agent_id or a past expires_at → 422, and no key is made",
  async ({ planner }) => {
    for (const agent_id of ["", "-a", "a b", "a".repeat(129), "ä"]) {
      const answer = await operatorRpc("create_agent_key", { agent_id });
      assert.equal(answer.status, 422, agent_id);
      assert.equal("key" in answer.body, false);
      assert.deepEqual((await operatorRpc("revoke_agent_keys", { agent_id })).body, { revoked: 0 });
    }
    const past = await operatorRpc("create_agent_key", {
      agent_id: planner.id,
      expires_at: "2020-01-01T00:00:00Z",
    });
    assert.equal(past.status, 422);
    assert.deepEqual((await operatorRpc("revoke_agent_keys", { agent_id: planner.id })).body, {
      revoked: 1,
    });
  },
);

artifactTest(
  "create_agent_key where as many live as max_live_keys says → 409, until one is revoked",
  async ({ planner }) => {
    const create = () =>
      operatorRpc("create_agent_key", { agent_id: planner.id, max_live_keys: 2 });
    assert.equal((await create()).status, 200);
    const refused = await create();
    assert.equal(refused.status, 409);
    assert.equal(refused.body["message"], "limit_exceeded");
    await operatorRpc("revoke_agent_key", { key_id: planner.keyId });
    assert.equal((await create()).status, 200);
  },
);

artifactTest(
  "8 create_agent_key at once where 2 more keys may live → 2 are made",
  async ({ planner }) => {
    const answers = await Promise.all(
      Array.from(
        { length: 8 },
        () => operatorRpc("create_agent_key", { agent_id: planner.id, max_live_keys: 3 }),
      ),
    );
    assert.equal(answers.filter(({ status }) => status === 200).length, 2);
    assert.deepEqual((await operatorRpc("revoke_agent_keys", { agent_id: planner.id })).body, {
      revoked: 3,
    });
  },
);

Deno.test("functions for agent keys, without the secret key → refused, no change", async () => {
  const agent = await createAgent("keyholder");
  const calls = {
    create_agent_key: { agent_id: agent.id },
    revoke_agent_key: { key_id: agent.keyId },
    revoke_agent_keys: { agent_id: agent.id },
  };
  const apikeys = [PUBLISHABLE_KEY, ANON_KEY].filter((key) => key !== undefined);
  for (const headers of [{}, ...apikeys.map((apikey) => ({ apikey }))]) {
    for (const [name, parameters] of Object.entries(calls)) {
      const response = await fetch(`${SUPABASE_URL}/rest/v1/rpc/agent_api_${name}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(parameters),
      });
      assert.equal([401, 403, 404].includes(response.status), true, `${name}: ${response.status}`);
      assert.equal((await response.text()).includes("ak_"), false);
    }
  }
  assert.deepEqual(await listed(agent), [], "the key still works");
  const revoked = await operatorRpc("revoke_agent_keys", { agent_id: agent.id });
  assert.deepEqual(revoked.body, { revoked: 1 }, "no other key was made");
});
