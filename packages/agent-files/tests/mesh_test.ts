import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { AgentMesh } from "../index.ts";
import { createAgent, SUPABASE_URL } from "../../../tests/conformance/client.ts";
import { startOwnFunction } from "../../../tests/own_function/own_function.ts";
import { OWN_RELAY } from "../../../tests/own_function/relay/relays.ts";

async function agentMesh(name: string) {
  const { id, key } = await createAgent(name);
  const mesh = new AgentMesh({ url: SUPABASE_URL, key, agentId: id });
  // The last byte keeps the number below 2^255−19, whatever the random bytes are.
  const pubkey = Buffer.concat([randomBytes(31), Buffer.from([0x40])]).toString("base64");
  await mesh.register({ pubkey });
  return { id, key, mesh };
}

Deno.test("AgentMesh: allow() by both → active, in both maps and configurations; revoke() → neither", async () => {
  const [planner, builder] = [await agentMesh("planner"), await agentMesh("builder")];
  const rule = { from_agent: builder.id, to_agent: planner.id, port: 443, proto: "tcp" } as const;
  assert.equal((await planner.mesh.allow(rule)).waiting_for, builder.id);
  assert.deepEqual((await builder.mesh.netmap()).acl_requests, [
    { ...rule, waiting_for: builder.id },
  ]);
  assert.equal((await builder.mesh.allow(rule)).active, true);
  for (const { mesh } of [planner, builder]) {
    assert.deepEqual((await mesh.netmap()).acls, [rule]);
    assert.match((await mesh.configuration()).config, /^\[Peer\]$/m);
    assert.deepEqual((await mesh.jsonConfiguration()).rules, [rule]);
  }
  assert.equal((await planner.mesh.revoke(rule)).revoked, true);
  assert.deepEqual((await builder.mesh.netmap()).acls, []);
  assert.equal((await builder.mesh.remove()).removed, true);
  await assert.rejects(builder.mesh.netmap(), { code: "peer_not_found", status: 404 });
});

Deno.test("AgentMesh: heartbeat() and wait() with paths → netmap() of both sides has them", async () => {
  const [planner, builder] = [await agentMesh("planner"), await agentMesh("builder")];
  const rule = { from_agent: builder.id, to_agent: planner.id, port: 443, proto: "tcp" } as const;
  await planner.mesh.allow(rule);
  await builder.mesh.allow(rule);
  const path = { via: "relay", endpoint: "203.0.113.7:4242", handshake_age_seconds: null } as const;
  await planner.mesh.heartbeat({ paths: [{ agent_id: builder.id, ...path }] });
  await builder.mesh.wait({ paths: [{ agent_id: planner.id, ...path, via: "none" }] });
  const [planners, builders] = await Promise.all(
    [planner, builder].map(async ({ mesh }) =>
      (await mesh.netmap()).peers.find(({ self }) => !self)?.path
    ),
  );
  assert.deepEqual(
    [planners?.reported_by_self?.via, planners?.reported_by_peer?.via],
    ["relay", "none"],
  );
  assert.equal(builders?.reported_by_self?.via, "none");
  assert.equal(builders?.reported_by_peer?.endpoint, path.endpoint);
  assert.equal(builders?.reported_by_peer?.works, false);
});

Deno.test("AgentMesh: configurations() → the present one first; the heartbeat says that it is applied", async () => {
  const { mesh } = await agentMesh("planner");
  for await (const { config, config_version } of mesh.configurations({ firewall: "none" })) {
    assert.match(config, /^\[Interface\]$/m);
    const heartbeat = await mesh.heartbeat({ config_version });
    assert.equal(heartbeat.config_version, config_version);
    break;
  }
});

Deno.test("AgentMesh: relay() → TURN servers with credentials; where there is no relay, its error", async () => {
  await using own = await startOwnFunction({ name: "agent-mesh", environment: OWN_RELAY });
  const { id, key, mesh } = await agentMesh("planner");
  await assert.rejects(mesh.relay(), { code: "misconfigured", status: 503 });
  await using gateway = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      const path = new URL(request.url).pathname.replace("/functions/v1", "");
      const { method, headers } = request;
      return await fetch(own.process.url + path, { method, headers, body: await request.text() });
    },
  );
  const url = `http://127.0.0.1:${gateway.addr.port}`;
  const relayed = new AgentMesh({ url, key, agentId: id });
  const { ice_servers: [server, ...others], expires_at } = await relayed.relay();
  assert.deepEqual(others, []);
  assert.deepEqual(server?.urls, OWN_RELAY.MESH_TURN_URLS.split(","));
  assert.ok(server.username.startsWith(`${Date.parse(expires_at) / 1000}:`));
  assert.match(server.credential, /^[A-Za-z0-9+/]{27}=$/);
});
