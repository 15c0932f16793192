/** Hosts whose address changes, and neighbours that must find them again. */
import assert from "node:assert/strict";
import { succeed } from "../../conformance/client.ts";
import { eventually } from "../../wireguard/hosts/run_program.ts";
import {
  type Member,
  Mesh,
  peerField,
  putRule,
  TCP_443,
  TUNNEL_PORT,
} from "../../wireguard/hosts/mesh_of_hosts.ts";
import { untilPingAnswered } from "../../wireguard/hosts/probes.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { HostAgent, joinWithAgents, printSecondsUntil } from "../hosts/host_agent.ts";

for (
  const [what, setting] of [
    ["the address that the host had", undefined],
    ["auto:51820", `auto:${TUNNEL_PORT}`],
  ] as const
) {
  tunnelTest(
    `a host whose --endpoint is ${what} gets another address → registered; its peer behind NAT reaches it`,
    async () => {
      await using mesh = await Mesh.create();
      const { alice, bob } = await joinWithAgents(mesh, { behindNat: true, pollSeconds: null });
      const environment: Record<string, string> = setting === undefined
        ? {}
        : { ENDPOINT: setting };
      if (setting !== undefined) {
        await bob.meshAgent.stop("SIGTERM");
        bob.meshAgent.restart({ environment });
        await untilPingAnswered(alice.host, { address: bob.ipv4 });
      }
      assert.equal(await endpointOf(bob), `${bob.host.address}:${TUNNEL_PORT}`);

      const moved = `${await mesh.internet.move(bob.host)}:${TUNNEL_PORT}`;
      await printSecondsUntil(
        "another address → the peer behind NAT sends there",
        async () => await peerField(alice, { peer: bob, field: "endpoints" }) === moved,
      );
      await untilPingAnswered(alice.host, { address: bob.ipv4 });
      assert.equal(await endpointOf(bob), moved);

      // ENDPOINT still names the old address, which was correct once.
      await bob.meshAgent.stop("SIGTERM");
      const registrations = await registrationsOf(bob.meshAgent);
      bob.meshAgent.restart({ environment });
      await eventually("bob's agent has registered again", {
        condition: async () => await registrationsOf(bob.meshAgent) > registrations,
      });
      assert.equal(await endpointOf(bob), moved);
    },
  );
}

tunnelTest(
  "a host that is reached by a name gets another address → its peer behind NAT looks the name up, and reaches it",
  async () => {
    await using mesh = await Mesh.create();
    const endpoint = `bob.example:${TUNNEL_PORT}`;
    const alice = await mesh.join("alice", { behindNat: true });
    const bob = await mesh.join("bob", { endpoint });
    await alice.host.resolve("bob.example", bob.host.address!);
    await putRule({ from: alice, to: bob, ...TCP_443 });
    await HostAgent.start(alice, { mesh, pollSeconds: null });
    const atBob = await HostAgent.start(bob, { mesh, pollSeconds: null });
    await atBob.stop("SIGTERM");
    atBob.restart({ environment: { ENDPOINT: endpoint } });
    await untilPingAnswered(alice.host, { address: bob.ipv4 });

    const address = await mesh.internet.move(bob.host);
    await alice.host.resolveAnew("bob.example", address);
    await eventually("the peer behind NAT sends to the other address", {
      condition: async () =>
        await peerField(alice, { peer: bob, field: "endpoints" }) === `${address}:${TUNNEL_PORT}`,
    });
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    assert.equal(await endpointOf(bob), endpoint);
  },
);

tunnelTest(
  "a host behind NAT gets another address while its request waits → sent again; its peer learns the address",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh, { pollSeconds: null });
    await bob.meshAgent.stop("SIGTERM");
    const waitsBefore = bob.meshAgent.door.waits.length;
    // Without ENDPOINT, the agent registers no endpoint, as behind NAT.
    bob.meshAgent.restart({ environment: { ENDPOINT: "" } });
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    await eventually("bob's agent waits", {
      condition: () => Promise.resolve(bob.meshAgent.door.waits.length > waitsBefore),
    });
    const waits = bob.meshAgent.door.waits.length;
    const moved = `${await mesh.internet.move(bob.host)}:${TUNNEL_PORT}`;
    await printSecondsUntil("another address → the peer has learned it", async () => {
      const [, port] = moved.split(":");
      const learned = await peerField(alice, { peer: bob, field: "endpoints" });
      return learned?.startsWith(moved.slice(0, -port!.length)) === true;
    });
    await eventually("bob's agent waits with another request", {
      condition: () => Promise.resolve(bob.meshAgent.door.waits.length > waits),
    });
    assert.equal(await endpointOf(bob), null);
  },
);

for (const ENDPOINT of ["auto", "auto:0", "auto:x"]) {
  tunnelTest(`--endpoint ${ENDPOINT} → it says so and ends`, async () => {
    await using mesh = await Mesh.create();
    const { bob } = await joinWithAgents(mesh);
    await bob.meshAgent.stop("SIGTERM");
    const asked = bob.meshAgent.door.paths.length;
    const { code, log } = await bob.meshAgent.runSecond({ ENDPOINT });
    assert.equal(code, 2);
    assert.match(log, /--endpoint must be <host>:<port>, auto:<port> or none, not auto/);
    assert.equal(bob.meshAgent.door.paths.length, asked);
  });
}

async function registrationsOf(meshAgent: HostAgent): Promise<number> {
  return (await meshAgent.readLog()).split("registered with ").length - 1;
}

/** The endpoint that the service has for a peer. */
async function endpointOf({ agent }: Member): Promise<string | null> {
  const { peers } = await succeed<{ peers: { self: boolean; endpoint: string | null }[] }>(
    "/agent-mesh/netmap",
    { as: agent },
  );
  return peers.find(({ self }) => self)!.endpoint;
}
