/** An agent whose service or neighbour is malicious or faulty. */
import assert from "node:assert/strict";
import { eventually } from "../../wireguard/hosts/run_program.ts";
import { linkProgramsBut } from "../../wireguard/hosts/host.ts";
import {
  hasInterface,
  type Member,
  Mesh,
  peerField,
  putRule,
  TCP_443,
  TUNNEL_PORT,
} from "../../wireguard/hosts/mesh_of_hosts.ts";
import { untilPingAnswered } from "../../wireguard/hosts/probes.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { HostAgent, joinWithAgents } from "../hosts/host_agent.ts";

tunnelTest(
  "/wait: the version that runs, in another spelling → it says so and fetches nothing",
  async () => {
    await using mesh = await Mesh.create();
    const { bob: { meshAgent } } = await joinWithAgents(mesh);
    const [, version] = /.*config_version (\d+) is applied/s.exec(await meshAgent.readLog())!;
    const fetched = () => meshAgent.door.paths.filter((path) => path.endsWith("/wg_config")).length;
    const before = fetched();
    meshAgent.door.replaceAnswers({
      "/wait": { config_version: `0${version}`, heartbeat_interval_seconds: 1 },
    });
    await eventually("the agent has said so", {
      condition: async () =>
        (await meshAgent.readLog()).includes("the answer has no config_version"),
    });
    assert.equal(fetched(), before);
  },
);

tunnelTest(
  "a peer's name that resolves to this host or into the mesh → it gets no endpoint; elsewhere → that one",
  async () => {
    await using mesh = await Mesh.create();
    const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
    const addresses: Record<string, string> = {
      loopback: "127.0.0.1",
      own: bob.host.address!,
      tunnel: bob.ipv4,
      mesh: alice.ipv4,
      mapped: "::ffff:127.0.0.1",
      loopback6: "::1",
      unspecified: "0.0.0.0",
    };
    const astray: Member[] = [];
    for (const [name, address] of Object.entries(addresses)) {
      astray.push(await mesh.join(name, { endpoint: `${name}.example:${TUNNEL_PORT}` }));
      await bob.host.resolve(`${name}.example`, address);
    }
    const carol = await mesh.join("carol", { endpoint: `carol.example:${TUNNEL_PORT}` });
    await bob.host.resolve("carol.example", "198.51.100.250");
    for (const to of [alice, ...astray, carol]) await putRule({ from: bob, to, ...TCP_443 });
    const meshAgent = await HostAgent.start(bob, { mesh, pollSeconds: 1 });
    await eventually("carol's endpoint is set", {
      condition: async () =>
        await peerField(bob, { peer: carol, field: "endpoints" }) === "198.51.100.250:51820",
    });
    // Wait one more round, so that each name was looked up, in whatever order.
    const heartbeats = heartbeatsOf(meshAgent);
    await eventually("the agent has gone two rounds more", {
      condition: () => Promise.resolve(heartbeatsOf(meshAgent) > heartbeats + 1),
    });
    for (const peer of astray) {
      assert.equal(await peerField(bob, { peer, field: "endpoints" }), "(none)", peer.agent.id);
    }
  },
);

tunnelTest(
  "/peer/register: 409 pubkey_in_use → the agent makes a new key pair, and registers that",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    await bob.meshAgent.stop("SIGTERM");
    const key = `${bob.host.directory}/${bob.interfaceName}.key`;
    await Deno.copyFile(`${alice.host.directory}/${alice.interfaceName}.key`, key);
    bob.meshAgent.restart();
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    assert.match(await bob.meshAgent.readLog(), /a new key pair is made/);
    assert.equal((await Deno.stat(key)).mode! & 0o777, 0o600);
  },
);

tunnelTest(
  "FIREWALL=none on a host without nft → the tunnel is up, and taken down at the end",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    await bob.meshAgent.stop("SIGTERM");
    bob.meshAgent.restart({
      environment: { FIREWALL: "none", PATH: await linkProgramsBut("nft", bob.host.directory) },
    });
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    assert.equal(await bob.host.run(["nft", "list", "tables"]), "");
    assert.equal(await bob.meshAgent.stop("SIGTERM"), 0);
    assert.equal(await hasInterface(bob), false);
  },
);

function heartbeatsOf({ door }: HostAgent): number {
  return door.paths.filter((path) => path.endsWith("/wait")).length;
}
