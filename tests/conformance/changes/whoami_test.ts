import assert from "node:assert/strict";
import {
  assertError,
  createAgent,
  endCreatedAgents,
  headersOf,
  operatorRpc,
  post,
  send,
} from "../client.ts";
import { assertUnauthenticated, UNKNOWN_AGENT_KEY } from "../credentials.ts";
import { secondsFromNow } from "../artifacts.ts";

Deno.test.afterEach(endCreatedAgents);

for (const name of ["agent-artifacts", "agent-mesh"]) {
  const path = `/${name}/whoami`;

  Deno.test(`GET ${path} by an agent → its name, and the key that it used`, async () => {
    const agent = await createAgent("planner");
    const expires_at = secondsFromNow(600);
    const second = await operatorRpc<{ key: string; key_id: string }>("create_agent_key", {
      agent_id: agent.id,
      expires_at,
    });
    const keys = [
      { key: agent.key, key_id: agent.keyId, expires_at: null },
      { key: second.body.key, key_id: second.body.key_id, expires_at },
    ];
    for (const { key, ...known } of keys) {
      const answer = await send(path, { headers: { authorization: `Bearer ${key}` } });
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get("cache-control"), "no-store");
      assert.deepEqual(answer.body, { kind: "agent", agent_id: agent.id, ...known, tags: [] });
    }
    await operatorRpc("revoke_agent_keys", { agent_id: agent.id });
    assertUnauthenticated(await send(path, { headers: headersOf(agent) }));
  });

  Deno.test(`GET ${path} by the operator → kind operator, and no agent`, async () => {
    const answer = await send(path, { headers: headersOf("operator") });
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.body, {
      kind: "operator",
      agent_id: null,
      key_id: null,
      expires_at: null,
      tags: [],
    });
  });

  Deno.test(`GET ${path} without a live credential → 401; POST → 405`, async () => {
    for (const bearer of ["", UNKNOWN_AGENT_KEY, "ak_malformed", "junk"]) {
      assertUnauthenticated(await send(path, { headers: { authorization: `Bearer ${bearer}` } }));
    }
    assertUnauthenticated(await send(path, {}));
    const posted = await post(path, { as: "operator" });
    assertError(posted, 405, "method_not_allowed");
    assert.equal(posted.headers.get("allow"), "GET, OPTIONS");
  });
}
