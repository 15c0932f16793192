/** What the agent reports of each pair: whether its tunnel works, and by which path. */
import assert from "node:assert/strict";
import { eventually, run } from "../../wireguard/hosts/run_program.ts";
import {
  type Member,
  Mesh,
  peerField,
  putRule,
  TCP_443,
  TUNNEL_PORT,
} from "../../wireguard/hosts/mesh_of_hosts.ts";
import type { Path } from "../../wireguard/hosts/service_door.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { HostAgent, joinWithAgents } from "../hosts/host_agent.ts";

tunnelTest(
  "a peer answers, falls silent and answers again → the log and the reports say so each time",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    const at = `${bob.host.address}:${TUNNEL_PORT}`;
    const { meshAgent } = alice;
    await untilLogged(meshAgent, `${bob.agent.id}: connected, directly, at ${at}`);
    await untilReported(
      meshAgent,
      bob,
      ({ endpoint, handshake_age_seconds, via }) =>
        via === "direct" && endpoint === at && handshake_age_seconds! >= 0,
    );

    await bob.host.run(["ip", "link", "set", "uplink", "down"]);
    await untilLogged(meshAgent, `${bob.agent.id}: no connection any more; `);
    await untilReported(meshAgent, bob, ({ via }) => via === "none");
    // The session has not expired yet. The agent noticed the silence itself.
    const handshake = Number(await peerField(alice, { peer: bob, field: "latest-handshakes" }));
    assert.ok(Date.now() / 1000 - handshake < 180);

    await bob.host.run(["ip", "link", "set", "uplink", "up"]);
    const gateway = bob.host.address!.replace(/\d+$/, (last) => String(Number(last) - 1));
    await bob.host.run(["ip", "route", "replace", "default", "via", gateway]);
    await untilLogged(meshAgent, `${bob.agent.id}: connected, directly, at ${at}`, 2);
    await untilReported(meshAgent, bob, ({ via }) => via === "direct");
  },
);

tunnelTest(
  "peers that cannot be reached → the log says why, the reports have none",
  async () => {
    await using mesh = await Mesh.create();
    const alice = await mesh.join("alice", { behindNat: true });
    const hidden = await mesh.join("hidden", { behindNat: true });
    const absent = await mesh.join("absent");
    const unnamed = await mesh.join("unnamed", { endpoint: "unnamed.example:51820" });
    for (const to of [hidden, absent, unnamed]) await putRule({ from: alice, to, ...TCP_443 });
    const meshAgent = await HostAgent.start(alice, { mesh });
    const says = async (peer: Member, why: string) =>
      await untilLogged(meshAgent, `${peer.agent.id}: no connection; ${why}`);
    await says(hidden, "neither side has an endpoint: both may be behind NAT");
    await says(absent, `no answer by UDP from ${absent.host.address}:${TUNNEL_PORT}`);
    await says(unnamed, "unnamed.example:51820 does not resolve, or leads back to this host");
    for (const peer of [hidden, absent, unnamed]) {
      await untilReported(
        meshAgent,
        peer,
        ({ via, handshake_age_seconds }) => via === "none" && handshake_age_seconds === null,
      );
    }
  },
);

tunnelTest(
  "a service that refuses paths with 422 → the agent leaves them out from then on, and applies changes",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    const { door } = bob.meshAgent;
    await untilReported(bob.meshAgent, alice, () => true);
    door.refusePaths();
    await untilLogged(bob.meshAgent, "this service accepts no path reports; not sending them");
    const { length } = door.heartbeats;
    await putRule({ from: alice, to: bob, proto: "tcp", port: 80 });
    await bob.meshAgent.untilApplied();
    // The heartbeat that brought the change may be older than the refusal of paths.
    await eventually("one more heartbeat", {
      condition: () => Promise.resolve(door.heartbeats.length > length),
    });
    const later = door.heartbeats.slice(length);
    assert.deepEqual(later.filter(({ paths }) => paths !== undefined), []);
  },
);

tunnelTest("a path that turns while the request waits → the request is sent again", async () => {
  await using mesh = await Mesh.create();
  const alice = await mesh.join("alice");
  const bob = await mesh.join("bob");
  await putRule({ from: alice, to: bob, ...TCP_443 });
  const meshAgent = await HostAgent.start(alice, { mesh, pollSeconds: null });
  await untilReported(meshAgent, bob, ({ via }) => via === "none");
  await HostAgent.start(bob, { mesh, pollSeconds: null });
  await untilReported(meshAgent, bob, ({ via }) => via === "direct");
  assert.ok(meshAgent.door.waitsAnswered < meshAgent.door.waits.length);
});

tunnelTest(
  "a silent peer is greeted again, slowly, while the agent looks after its host → the peer is still there",
  async () => {
    await using mesh = await Mesh.create();
    const alice = await mesh.join("alice");
    const bob = await mesh.join("bob");
    await putRule({ from: alice, to: bob, ...TCP_443 });
    const meshAgent = await HostAgent.start(alice, { mesh });
    assert.equal(await meshAgent.stop("SIGTERM"), 0);
    // A wg that takes 8 s to add the peer again. Meanwhile, the agent checks its peers several
    // times.
    const folder = `${alice.host.directory}/bin`;
    const wg = (await run(["sh", "-c", "command -v wg"])).trim();
    await Deno.mkdir(folder);
    await Deno.writeTextFile(
      `${folder}/wg`,
      `#!/bin/sh\n[ "$1" = addconf ] || exec ${wg} "$@"\n` +
        `sleep 8; ${wg} "$@"; touch ${folder}/greeted\n`,
      { mode: 0o755 },
    );
    meshAgent.restart({ environment: { PATH: `${folder}:${Deno.env.get("PATH")}` } });
    await eventually("bob is greeted again", {
      condition: () => Deno.stat(`${folder}/greeted`).then(() => true, () => false),
    });
    assert.equal(
      await peerField(alice, { peer: bob, field: "allowed-ips" }),
      `${bob.ipv4}/32 ${bob.ipv6}/128`,
    );
  },
);

async function untilLogged(meshAgent: HostAgent, text: string, times = 1): Promise<void> {
  await eventually(`the log says ${times} times: ${text}`, {
    condition: async () => (await meshAgent.readLog()).split(text).length > times,
  });
}

/** Waits for a heartbeat whose report of this peer satisfies `isSo`. */
async function untilReported(
  { door }: HostAgent,
  { agent }: Member,
  isSo: (path: Path) => boolean,
): Promise<void> {
  await eventually(`the newest report of ${agent.id} is as expected`, {
    condition: () => {
      const path = door.heartbeats.at(-1)?.paths?.find(({ agent_id }) => agent_id === agent.id);
      return Promise.resolve(path !== undefined && isSo(path));
    },
  });
}
