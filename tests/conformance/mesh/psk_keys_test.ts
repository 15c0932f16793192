import assert from "node:assert/strict";
import { assertError, createAgent, operatorRpc, post, succeed } from "../client.ts";

Deno.test("/psk/keys by the operator → the ids of the encryption keys, and nothing of the keys", async () => {
  const { key_ids, ...rest } = await succeed<{ key_ids: string[] }>("/agent-mesh/psk/keys", {
    as: "operator",
  });
  assert.ok(key_ids.length > 0);
  for (const id of key_ids) assert.match(id, /^[0-9a-f]{16}$/);
  assert.deepEqual(rest, {});
});

Deno.test("/psk/keys by an agent → 403 forbidden; by nobody, or by an unknown key → 401", async () => {
  const agent = await createAgent("alice");
  try {
    assertError(await post("/agent-mesh/psk/keys", { as: agent }), 403, "forbidden");
  } finally {
    await operatorRpc("revoke_agent_keys", { agent_id: agent.id });
  }
  assertError(await post("/agent-mesh/psk/keys", { as: "nobody" }), 401, "unauthenticated");
  assertError(await post("/agent-mesh/psk/keys", { as: agent }), 401, "unauthenticated");
});
