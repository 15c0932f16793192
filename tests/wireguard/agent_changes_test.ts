import assert from "node:assert/strict";
import { succeed } from "../conformance/client.ts";
import { eventually } from "./command.ts";
import { ExampleAgent, joinWithAgents } from "./example_agent.ts";
import { type Member, Mesh, peerField, putRule, revokeRule } from "./mesh_of_hosts.ts";
import { answersPing, listen, Pings, reaches, socatAddress, untilPingAnswered } from "./probes.ts";
import { tunnelTest } from "./requirements.ts";

const TCP_443 = { proto: "tcp", port: 443 } as const;
const TCP_80 = { proto: "tcp", port: 80 } as const;

tunnelTest("/acl/revoke → an open TCP connection stops at the agent's next poll", async () => {
  await using mesh = await Mesh.create();
  const { alice, bob } = await joinWithAgents(mesh);
  // A second rule, so that the two stay peers and only the first rule ends.
  await putRule({ from: alice, to: bob, ...TCP_80 });
  await listen(bob.host, TCP_443);
  await untilPingAnswered(alice.host, { address: bob.ipv4 });
  const connection = openConnection(alice, bob);
  await eventually("the connection carries lines", {
    withinSeconds: 10,
    condition: async () => await connection.linesBack() > 2,
  });

  await revokeRule({ from: alice, to: bob, ...TCP_443 });
  await bob.example.untilApplied();
  const linesAtRevoke = await connection.linesBack();
  await eventually("what was sent is not acknowledged", {
    withinSeconds: 20,
    condition: () => connection.isUnanswered(),
  });
  assert.ok(await connection.linesBack() <= linesAtRevoke + 1);
  assert.equal(await reaches(alice.host, { ...TCP_443, address: bob.ipv4 }), false);
  assert.equal(await answersPing(alice.host, bob.ipv4), true);
});

tunnelTest(
  "/acl/put while tunnels are up → reached within a poll, session and pings kept",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    await listen(bob.host, TCP_80);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    const handshakes = await latestHandshakes(alice, bob);
    const pings = Pings.start(alice.host, bob.ipv4);

    await putRule({ from: alice, to: bob, ...TCP_80 });
    await bob.example.untilApplied();
    assert.equal(await reaches(alice.host, { ...TCP_80, address: bob.ipv4 }), true);

    const { sent, lost } = await pings.stop();
    assert.ok(sent > 10);
    assert.deepEqual(lost, []);
    assert.deepEqual(await latestHandshakes(alice, bob), handshakes);
  },
);

tunnelTest("an applied change → its version is told with the next heartbeat", async () => {
  await using mesh = await Mesh.create();
  const { alice, bob } = await joinWithAgents(mesh);
  await putRule({ from: alice, to: bob, ...TCP_80 });
  const { config_version } = await netmapOf(bob);
  await eventually("alice sees that bob runs this version", {
    withinSeconds: 20,
    condition: async () => {
      const { peers } = await netmapOf(alice);
      const { config_version_applied } = peers.find(({ self }) => !self) ?? {};
      return config_version_applied === config_version;
    },
  });
});

tunnelTest(
  "a third agent joins beside a live tunnel → both sides reach it, no ping lost",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    const pings = Pings.start(alice.host, bob.ipv4);
    const carol = await mesh.join("carol");
    await putRule({ from: carol, to: alice, ...TCP_80 });
    await ExampleAgent.start(carol, { mesh });
    await alice.example.untilApplied();
    await untilPingAnswered(carol.host, { address: alice.ipv4 });
    await untilPingAnswered(alice.host, { address: carol.ipv4 });
    assert.deepEqual((await pings.stop()).lost, []);
  },
);

tunnelTest(
  "an agent behind NAT opens the tunnel; changes elsewhere lose none of its pings",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh, { behindNat: true });
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    const learned = await peerField(bob, { peer: alice, field: "endpoints" });
    assert.match(learned ?? "", /^198\.51\.100\.\d+:\d+$/);
    const pings = Pings.start(alice.host, bob.ipv4);

    const carol = await mesh.join("carol");
    await putRule({ from: carol, to: bob, ...TCP_80 });
    await bob.example.untilApplied();
    await putRule({ from: bob, to: alice, ...TCP_80 });
    await alice.example.untilApplied();
    await listen(alice.host, TCP_80);
    assert.equal(await reaches(bob.host, { ...TCP_80, address: alice.ipv4 }), true);

    const { sent, lost } = await pings.stop();
    assert.ok(sent > 20);
    assert.deepEqual(lost, []);
    assert.equal(await peerField(bob, { peer: alice, field: "endpoints" }), learned);
  },
);

tunnelTest("a peer that speaks from another port now → a change does not set it back", async () => {
  await using mesh = await Mesh.create();
  const { alice, bob } = await joinWithAgents(mesh);
  await untilPingAnswered(alice.host, { address: bob.ipv4 });
  await alice.host.run(["wg", "set", alice.interfaceName, "listen-port", "40000"]);
  await untilPingAnswered(alice.host, { address: bob.ipv4 });
  const learned = `${alice.host.address}:40000`;
  assert.equal(await peerField(bob, { peer: alice, field: "endpoints" }), learned);

  await putRule({ from: alice, to: bob, ...TCP_80 });
  await bob.example.untilApplied();
  assert.equal(await peerField(bob, { peer: alice, field: "endpoints" }), learned);
  assert.equal(await answersPing(bob.host, alice.ipv4), true);
});

tunnelTest("a peer without a session registers another endpoint → it is used", async () => {
  await using mesh = await Mesh.create();
  const alice = await mesh.join("alice", { endpoint: "198.51.100.250:51820" });
  const bob = await mesh.join("bob");
  await putRule({ from: bob, to: alice, ...TCP_443 });
  await ExampleAgent.start(bob, { mesh });
  assert.match(await peerField(bob, { peer: alice, field: "endpoints" }) ?? "", /\.250:51820$/);
  await succeed("/agent-mesh/peer/register", {
    as: alice.agent,
    body: { agent_id: alice.agent.id, pubkey: alice.publicKey, endpoint: "198.51.100.251:51820" },
  });
  await eventually("bob sends to the other endpoint", {
    withinSeconds: 20,
    condition: async () =>
      await peerField(bob, { peer: alice, field: "endpoints" }) === "198.51.100.251:51820",
  });
});

interface Netmap {
  readonly config_version: number;
  readonly peers: readonly { self: boolean; config_version_applied: number | null }[];
}

function netmapOf({ agent }: Member): Promise<Netmap> {
  return succeed<Netmap>("/agent-mesh/netmap", { as: agent });
}

async function latestHandshakes(one: Member, other: Member) {
  return [
    await peerField(one, { peer: other, field: "latest-handshakes" }),
    await peerField(other, { peer: one, field: "latest-handshakes" }),
  ];
}

/** A connection over which alice sends a line every tenth of a second; bob sends each back. */
function openConnection(alice: Member, bob: Member) {
  const script = 'while sleep 0.1; do echo line; done | socat - "$0"';
  const address = socatAddress({ ...TCP_443, address: bob.ipv4 });
  alice.host.start(["sh", "-c", script, address], { logName: "lines" });
  const connections = ["ss", "-Htno", "state", "established", "dport", "=", ":443"];
  return {
    async linesBack(): Promise<number> {
      return (await alice.host.readLog("lines")).split("\n").length - 1;
    },
    /** TCP has sent something a third time. */
    async isUnanswered(): Promise<boolean> {
      return /timer:\(on,[^)]*,[2-9]\)/.test(await alice.host.run(connections));
    },
  };
}
