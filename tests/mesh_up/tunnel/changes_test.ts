import assert from "node:assert/strict";
import { succeed } from "../../conformance/client.ts";
import { eventually } from "../../wireguard/hosts/run_program.ts";
import { untilListening } from "../../wireguard/hosts/host.ts";
import {
  type Member,
  Mesh,
  peerField,
  putRule,
  revokeRule,
  servedConfiguration,
  TCP_443,
  TCP_80,
  TUNNEL_PORT,
} from "../../wireguard/hosts/mesh_of_hosts.ts";
import {
  answersPing,
  listen,
  Pings,
  reaches,
  socatAddress,
  untilPingAnswered,
} from "../../wireguard/hosts/probes.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { HostAgent, joinWithAgents } from "../hosts/host_agent.ts";

const HANDSHAKE_INITIATION_BYTES = 148;
/** After this time without an answer, WireGuard itself sends another handshake. */
const REKEY_TIMEOUT_SECONDS = 5;
/** The lines of a peer's section, by the names that `wg show` uses for them. */
const SERVED_LINES = {
  "preshared-keys": "PresharedKey",
  "allowed-ips": "AllowedIPs",
  "endpoints": "Endpoint",
  "persistent-keepalive": "PersistentKeepalive",
};

tunnelTest(
  "/acl/revoke → an open TCP connection stops at the agent's next poll: it is reset on both hosts",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    // A second rule keeps both peers when the first rule ends.
    await putRule({ from: alice, to: bob, ...TCP_80 });
    await listen(bob.host, TCP_443);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    const connection = openConnection(alice, bob);
    await eventually("the connection carries lines", {
      condition: async () => await connection.linesBack() > 2,
    });

    await revokeRule({ from: alice, to: bob, ...TCP_443 });
    await bob.meshAgent.untilApplied();
    await eventually("the connection is over on both hosts", {
      condition: () => connection.isOver(),
    });
    assert.match(await alice.host.readLog("lines"), /Connection reset by peer/);
    assert.equal(await reaches(alice.host, { ...TCP_443, address: bob.ipv4 }), false);
    assert.equal(await answersPing(alice.host, bob.ipv4), true);
  },
);

tunnelTest(
  "/acl/put while the tunnels are up → reached at the next poll; the session stays, no ping is lost",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    await listen(bob.host, TCP_80);
    const handshakes = await latestHandshakes(alice, bob);
    const pings = Pings.start(alice.host, bob.ipv4);

    await putRule({ from: alice, to: bob, ...TCP_80 });
    await bob.meshAgent.untilApplied();
    const target = { ...TCP_80, address: bob.ipv4 };
    assert.equal(await reaches(alice.host, target, { withinSeconds: 10 }), true);

    await pings.untilSent(10);
    const { sent, lost } = await pings.stop();
    assert.ok(sent > 10);
    assert.deepEqual(lost, []);
    assert.deepEqual(await latestHandshakes(alice, bob), handshakes);
  },
);

tunnelTest("an applied change → the next heartbeat reports its version", async () => {
  await using mesh = await Mesh.create();
  const { alice, bob } = await joinWithAgents(mesh);
  await putRule({ from: alice, to: bob, ...TCP_80 });
  const { config_version } = await netmapOf(bob);
  await eventually("alice sees that bob runs this version", {
    condition: async () => {
      const { peers } = await netmapOf(alice);
      const { config_version_applied } = peers.find(({ self }) => !self) ?? {};
      return config_version_applied === config_version;
    },
  });
});

tunnelTest(
  "a third agent joins beside a live tunnel → it and its peer reach each other, no ping is lost",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    const pings = Pings.start(alice.host, bob.ipv4);
    const carol = await mesh.join("carol");
    await putRule({ from: carol, to: alice, ...TCP_80 });
    await HostAgent.start(carol, { mesh });
    await alice.meshAgent.untilApplied();
    await untilPingAnswered(carol.host, { address: alice.ipv4 });
    await untilPingAnswered(alice.host, { address: carol.ipv4 });
    assert.deepEqual((await pings.stop()).lost, []);
  },
);

tunnelTest(
  "changes while an agent behind NAT is connected → none of its pings is lost",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh, { behindNat: true });
    const learned = await peerField(bob, { peer: alice, field: "endpoints" });
    assert.match(learned ?? "", /^198\.51\.100\.\d+:\d+$/);
    const pings = Pings.start(alice.host, bob.ipv4);

    const carol = await mesh.join("carol");
    await putRule({ from: carol, to: bob, ...TCP_80 });
    await bob.meshAgent.untilApplied();
    await putRule({ from: bob, to: alice, ...TCP_80 });
    await alice.meshAgent.untilApplied();
    await listen(alice.host, TCP_80);
    assert.equal(await reaches(bob.host, { ...TCP_80, address: alice.ipv4 }), true);

    await pings.untilSent(20);
    const { sent, lost } = await pings.stop();
    assert.ok(sent > 20);
    assert.deepEqual(lost, []);
    assert.equal(await peerField(bob, { peer: alice, field: "endpoints" }), learned);
  },
);

tunnelTest(
  "a peer has moved to another port, then a rule changes → it is still reached there",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    await alice.host.run(["wg", "set", alice.interfaceName, "listen-port", "40000"]);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    const learned = `${alice.host.address}:40000`;
    assert.equal(await peerField(bob, { peer: alice, field: "endpoints" }), learned);

    await putRule({ from: alice, to: bob, ...TCP_80 });
    await bob.meshAgent.untilApplied();
    assert.equal(await peerField(bob, { peer: alice, field: "endpoints" }), learned);
    assert.equal(await answersPing(bob.host, alice.ipv4), true);
  },
);

tunnelTest(
  "peers appear while the tunnel is up, one with a name that does not resolve → each has its keepalive",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    const carol = await mesh.join("carol");
    const dave = await mesh.join("dave", { endpoint: "dave.example:51820" });
    for (const to of [carol, dave]) await putRule({ from: bob, to, ...TCP_80 });
    await bob.meshAgent.untilApplied();
    for (const peer of [alice, carol, dave]) {
      await eventually(
        `${peer.agent.id} has its keepalive: it is set up again while it is silent`,
        {
          condition: async () =>
            await peerField(bob, { peer, field: "persistent-keepalive" }) === "25",
        },
      );
    }
  },
);

tunnelTest(
  "a new peer does not answer → it is sent another handshake before WireGuard's own, and stays as it was given",
  async () => {
    await using mesh = await Mesh.create();
    const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
    // The log has a line with the time and the length of each datagram.
    const sink = ["socat", "-u", "-x", `UDP-RECV:${TUNNEL_PORT}`, "OPEN:/dev/null"];
    bob.host.start(sink, { logName: "silent-peer" });
    await untilListening(bob.host, { proto: "udp", port: TUNNEL_PORT });
    const meshAgent = await HostAgent.start(alice, { mesh });

    await putRule({ from: alice, to: bob, ...TCP_443 });
    await meshAgent.untilApplied();
    // WireGuard itself waits REKEY_TIMEOUT between two handshakes. The agent's handshake may be
    // late, too.
    await eventually("a handshake has arrived sooner after another than WireGuard's own", {
      condition: async () => {
        const times = handshakeTimes(await bob.host.readLog("silent-peer"));
        return times.some((time, index) => time - times[index - 1]! < 0.95 * REKEY_TIMEOUT_SECONDS);
      },
    });
    const config = await servedConfiguration(alice);
    for (const [field, line] of Object.entries(SERVED_LINES)) {
      const served = new RegExp(`^${line} = (.*)$`, "m").exec(config)?.[1]?.replaceAll(",", "");
      assert.ok(served);
      assert.equal(await peerField(alice, { peer: bob, field }), served);
    }
  },
);

tunnelTest("a peer without a session registers another endpoint → that one is used", async () => {
  await using mesh = await Mesh.create();
  const alice = await mesh.join("alice", { endpoint: "198.51.100.250:51820" });
  const bob = await mesh.join("bob");
  await putRule({ from: bob, to: alice, ...TCP_443 });
  await HostAgent.start(bob, { mesh });
  await eventually("bob sends to the first endpoint", {
    condition: async () =>
      await peerField(bob, { peer: alice, field: "endpoints" }) === "198.51.100.250:51820",
  });
  await succeed("/agent-mesh/peer/register", {
    as: alice.agent,
    body: { agent_id: alice.agent.id, pubkey: alice.publicKey, endpoint: "198.51.100.251:51820" },
  });
  await eventually("bob sends to the other endpoint", {
    condition: async () =>
      await peerField(bob, { peer: alice, field: "endpoints" }) === "198.51.100.251:51820",
  });
});

/**
 * The times of the handshakes in a log of `socat -x`, in whole seconds: versions of socat print the
 * fraction differently.
 */
function handshakeTimes(log: string): number[] {
  const lines = log.matchAll(/^> (\d+)\/(\d+)\/(\d+) ([\d:]+)\S* +length=(\d+) /gm);
  return Array.from(lines)
    .filter((line) => Number(line[5]) === HANDSHAKE_INITIATION_BYTES)
    .map(([, year, month, day, time]) => Date.parse(`${year}-${month}-${day}T${time}Z`) / 1000);
}

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

/** A connection on which alice sends ten lines a second, and bob sends each line back. */
function openConnection(alice: Member, bob: Member) {
  const script = 'while sleep 0.1; do echo line; done | socat -d - "$0"';
  const address = socatAddress({ ...TCP_443, address: bob.ipv4 });
  alice.host.start(["sh", "-c", script, address], { logName: "lines" });
  const connections = ["ss", "-Htn", "state", "established", "dport", "=", ":443"];
  return {
    async linesBack(): Promise<number> {
      return (await alice.host.readLog("lines")).split("\n").length - 1;
    },
    /** Whether neither kernel has it any more. */
    async isOver(): Promise<boolean> {
      const ofBob = ["ss", "-Htn", "state", "established", "sport", "=", ":443"];
      return await alice.host.run(connections) === "" && await bob.host.run(ofBob) === "";
    },
  };
}
