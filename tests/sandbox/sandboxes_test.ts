import assert from "node:assert/strict";
import { operatorRpc, succeed } from "../conformance/client.ts";
import { HostAgent } from "../mesh_up/hosts/host_agent.ts";
import { eventually } from "../wireguard/hosts/run_program.ts";
import { untilListening } from "../wireguard/hosts/host.ts";
import { Mesh } from "../wireguard/hosts/mesh_of_hosts.ts";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";
import type { Sent } from "./hosts/sandbox_protocol.ts";
import { allow, revokeAs, Sandbox, serveDigests } from "./hosts/sandbox.ts";

tunnelTest(
  "a sandbox under Deno and one under Node → connections and requests in both directions; each knows the other; who leaves resets them",
  async () => {
    await using mesh = await Mesh.create();
    const deno = await Sandbox.join(mesh, { name: "planner", runtime: "deno" });
    const node = await Sandbox.join(mesh, { name: "builder", runtime: "node" });
    for (const [from, to] of [[deno, node], [node, deno]] as const) {
      await to.tell({ do: "listen", port: 443 });
      await to.tell({ do: "serveHttp", port: 8080 });
      await allow({ from, to, port: 443 });
      await allow({ from, to, port: 8080 });
      await from.sends({ host: to.name, port: 443 }, 500_000);
      const url = `http://${to.name}:8080/tasks?state=open`;
      const answer = await from.tell<{ status: number; body: string; url: string }>({
        do: "fetch",
        url,
        body: "hello",
      });
      assert.deepEqual([answer.status, answer.url], [200, url]);
      assert.deepEqual(JSON.parse(answer.body), {
        line: "POST /tasks?state=open HTTP/1.1",
        from: from.agent.id,
      });
      const { accepted } = await to.tell<{ accepted: string[] }>({ do: "accepted" });
      assert.deepEqual(accepted, [from.agent.id]);
    }
    await deno.tell({ do: "hold", host: node.name, port: 443 });
    await node.tell({ do: "close" });
    assert.deepEqual(await deno.tell({ do: "outcome" }), { outcome: "ECONNRESET" });
  },
);

tunnelTest(
  "a rule between two sandboxes that the other one revokes → the open connection is reset on both sides",
  async () => {
    await using mesh = await Mesh.create();
    const planner = await Sandbox.join(mesh, { name: "planner" });
    const builder = await Sandbox.join(mesh, { name: "builder" });
    const rule = { from: planner, to: builder, port: 443 };
    await builder.tell({ do: "listen", port: 443 });
    for (const revoker of [builder, planner]) {
      await allow(rule);
      await planner.tell({ do: "hold", host: builder.name, port: 443 });
      await revokeAs(revoker.agent, rule);
      assert.deepEqual(await planner.tell({ do: "outcome" }), { outcome: "ECONNRESET" });
      // A side may get the reset before it learns that the rule has ended.
      for (const side of [planner, builder]) {
        await eventually(`${side.name} has no peer`, {
          condition: async () => (await side.peers()).length === 0,
        });
      }
    }
  },
);

tunnelTest(
  "an application whose thread is busy → its tunnel stays up, and what arrives meanwhile is complete",
  async () => {
    await using mesh = await Mesh.create();
    const planner = await Sandbox.join(mesh, { name: "planner" });
    const builder = await mesh.join("builder");
    await allow({ from: builder, to: planner, port: 8080 });
    await allow({ from: planner, to: builder, port: 443 });
    await HostAgent.start(builder, { mesh });
    serveDigests(builder, 443);
    await untilListening(builder.host, { proto: "tcp", port: 443 });
    await planner.sends({ host: builder.ipv4, port: 443 }, 1000);
    const busy = planner.tell({ do: "beBusy", milliseconds: 8000 });
    const pings = await builder.host.run(["ping", "-n", "-c10", "-i0.5", "-W2", planner.ipv4]);
    assert.match(pings, / 0% packet loss/);
    await busy;
    await planner.sends({ host: builder.ipv4, port: 443 }, 100_000);
  },
);

tunnelTest(
  "a PSK that is rotated twice during a transfer → its session goes on to the end, and a new process begins one by the newest PSK",
  async () => {
    await using mesh = await Mesh.create();
    const planner = await Sandbox.join(mesh, { name: "planner" });
    const builder = await Sandbox.join(mesh, { name: "builder", runtime: "node" });
    await builder.tell({ do: "listen", port: 443 });
    await allow({ from: planner, to: builder, port: 443 });
    const to = { host: builder.name, port: 443 };
    await planner.sends(to, 1000);
    const transfer = planner.tell<Sent>({ do: "send", ...to, bytes: 30_000_000 });
    for (let rotation = 0; rotation < 2; rotation++) {
      const pair = { a: planner.agent.id, b: builder.agent.id };
      await succeed("/agent-mesh/psk/rotate", { as: "operator", body: pair });
    }
    const { sent, received } = await transfer;
    assert.equal(received, sent);
    // A new process of the same agent must make a handshake with the newest PSK.
    const again = await Sandbox.start(mesh, {
      host: planner.host,
      agent: planner.agent,
      runtime: "node",
    });
    await again.sends(to, 1000);
  },
);

for (const runtime of ["deno", "node"] as const) {
  tunnelTest(
    `a restart under ${runtime} with the key in a file → the same public key, and connections in both directions`,
    async () => {
      await using mesh = await Mesh.create();
      const planner = await Sandbox.join(mesh, { name: "planner", runtime, keepsKey: true });
      const builder = await Sandbox.join(mesh, { name: "builder" });
      for (const [from, to] of [[planner, builder], [builder, planner]] as const) {
        await to.tell({ do: "listen", port: 443 });
        await allow({ from, to, port: 443 });
        await from.sends({ host: to.name, port: 443 }, 1000);
      }
      const before = await publicKeySeenBy(builder);
      const again = await planner.restart(mesh);
      await again.tell({ do: "listen", port: 443 });
      for (const [from, to] of [[builder, again], [again, builder]] as const) {
        await from.sends({ host: to.name, port: 443 }, 1000);
      }
      assert.equal(await publicKeySeenBy(builder), before);
      const { mode } = await Deno.stat(planner.keyFile);
      assert.equal(mode! & 0o777, 0o600);
    },
  );
}

/** The public key of the agent's only peer, as the service reports it. */
async function publicKeySeenBy({ agent }: Sandbox): Promise<string> {
  const { peers } = await succeed<{ peers: { public_key: string }[] }>(
    "/agent-mesh/wg_config",
    { as: agent, body: { format: "json" } },
  );
  assert.equal(peers.length, 1);
  return peers[0]!.public_key;
}

tunnelTest(
  "a second process of the same agent → it has the peers; the first is told that it is superseded, and can do nothing more",
  async () => {
    await using mesh = await Mesh.create();
    const first = await Sandbox.join(mesh, { name: "planner" });
    const builder = await Sandbox.join(mesh, { name: "builder" });
    await builder.tell({ do: "listen", port: 443 });
    await allow({ from: first, to: builder, port: 443 });
    const to = { host: builder.name, port: 443 };
    await first.sends(to, 1000);
    const { host, agent } = first;
    const second = await Sandbox.start(mesh, { host, agent, runtime: "node" });
    assert.equal(second.ipv4, first.ipv4);
    assert.deepEqual(await first.tell({ do: "closed" }), { closed: "superseded" });
    assert.equal((await first.ask({ do: "hold", ...to })).error?.code, "superseded");
    await second.sends(to, 1000);
  },
);

tunnelTest(
  "a peer that is removed, and an agent whose keys are revoked → the sandbox is told",
  async () => {
    await using mesh = await Mesh.create();
    const removed = await Sandbox.join(mesh, { name: "removed" });
    const revoked = await Sandbox.join(mesh, { name: "revoked" });
    await succeed("/agent-mesh/peer/remove", {
      as: "operator",
      body: { agent_id: removed.agent.id },
    });
    assert.deepEqual(await removed.tell({ do: "closed" }), { closed: "removed" });
    await operatorRpc("revoke_agent_keys", { agent_id: revoked.agent.id });
    assert.deepEqual(await revoked.tell({ do: "closed" }), { closed: "unauthenticated" });
  },
);

tunnelTest(
  "a service that was restored → the sandbox goes on, and learns of the next rule",
  async () => {
    await using mesh = await Mesh.create();
    const planner = await Sandbox.join(mesh, { name: "planner" });
    const builder = await Sandbox.join(mesh, { name: "builder", runtime: "node" });
    for (const port of [443, 80]) await builder.tell({ do: "listen", port });
    await allow({ from: planner, to: builder, port: 443 });
    await planner.sends({ host: builder.name, port: 443 }, 1000);
    await operatorRpc("after_restore", {});
    await allow({ from: planner, to: builder, port: 80 });
    await planner.sends({ host: builder.name, port: 80 }, 1000);
    await revokeAs(builder.agent, { from: planner, to: builder, port: 443 });
    await eventually("the revoked rule is gone", {
      condition: async () =>
        (await planner.ask({ do: "hold", host: builder.name, port: 443 })).error?.code ===
          "no_rule",
    });
  },
);
