import assert from "node:assert/strict";
import {
  bringUp,
  type Member,
  Mesh,
  putRule,
  servedConfiguration,
  writeConfiguration,
} from "./hosts/mesh_of_hosts.ts";
import { answersPing, listen, reaches, untilPingAnswered } from "./hosts/probes.ts";
import { tunnelTest } from "./hosts/requirements.ts";

const BEHIND = { address: "192.168.77.2", port: 8080, proto: "tcp" } as const;
const PUBLISHED_PORT = 18080;

/** bob routes for a host behind him, and publishes its port 8080 as his own port 18080. */
const PUBLISH = `table ip published {
  chain prerouting {
    type nat hook prerouting priority dstnat;
    tcp dport ${PUBLISHED_PORT} dnat to ${BEHIND.address}:${BEHIND.port}
  }
}
`;

tunnelTest(
  "a peer with wider AllowedIPs → reaches neither the network behind a host nor its published port",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinBesidePublisher(mesh);
    // The rule allows bob's own port with the same number.
    await putRule({ from: alice, to: bob, proto: "tcp", port: BEHIND.port });
    await bringUp(bob);
    await bringUpWithWiderPeers(alice);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });

    assert.equal(await reaches(alice.host, BEHIND), false);
    assert.equal(await answersPing(alice.host, BEHIND.address), false);
    assert.equal(await reaches(alice.host, publishedBy(bob.ipv4)), false);
    assert.equal(await reaches(alice.host, publishedBy(bob.host.address ?? "")), true);
  },
);

tunnelTest("a rule for a published port → the port is reached through the tunnel", async () => {
  await using mesh = await Mesh.create();
  const { alice, bob } = await joinBesidePublisher(mesh);
  await putRule({ from: alice, to: bob, proto: "tcp", port: PUBLISHED_PORT });
  for (const member of [alice, bob]) await bringUp(member);
  await untilPingAnswered(alice.host, { address: bob.ipv4 });
  assert.equal(await reaches(alice.host, publishedBy(bob.ipv4)), true);
});

tunnelTest("wider AllowedIPs, no firewall → both are reached: the test can fail", async () => {
  await using mesh = await Mesh.create();
  const { alice, bob } = await joinBesidePublisher(mesh);
  await putRule({ from: alice, to: bob, proto: "tcp", port: 443 });
  await bringUp(bob);
  await bob.host.run(["nft", "delete", "table", "inet", `agent_mesh_${bob.interfaceName}`]);
  await bringUpWithWiderPeers(alice);
  await untilPingAnswered(alice.host, { address: bob.ipv4 });
  assert.equal(await reaches(alice.host, BEHIND), true);
  assert.equal(await reaches(alice.host, publishedBy(bob.ipv4)), true);
});

tunnelTest("a host behind a member begins a flow → the replies reach it", async () => {
  await using mesh = await Mesh.create();
  const { alice, bob, behind } = await joinBesidePublisher(mesh);
  await putRule({ from: bob, to: alice, proto: "tcp", port: 443 });
  for (const member of [alice, bob]) await bringUp(member);
  await bob.host.run(["nft", "-f", "-"], {
    input: `table ip outgoing {
      chain postrouting {
        type nat hook postrouting priority srcnat;
        oifname "${bob.interfaceName}" masquerade
      }
    }`,
  });
  await listen(alice.host, { proto: "tcp", port: 443 });
  await untilPingAnswered(bob.host, { address: alice.ipv4 });
  assert.equal(await reaches(behind, { proto: "tcp", address: alice.ipv4, port: 443 }), true);
});

async function joinBesidePublisher(mesh: Mesh) {
  const alice = await mesh.join("alice");
  const bob = await mesh.join("bob");
  const behind = await mesh.internet.addHostBehind(bob.host, "behind");
  await bob.host.run(["nft", "-f", "-"], { input: PUBLISH });
  await listen(behind, BEHIND);
  return { alice, bob, behind };
}

/**
 * Starts the tunnel like an agent that edits its configuration to route more through its only peer.
 */
async function bringUpWithWiderPeers(member: Member): Promise<void> {
  const text = (await servedConfiguration(member))
    .replace(/^AllowedIPs = .*$/m, `$&, ${BEHIND.address}/32`);
  await member.host.run(["wg-quick", "up", await writeConfiguration(member, text)]);
  const { host, interfaceName } = member;
  await host.run(["ip", "route", "add", `${BEHIND.address}/32`, "dev", interfaceName]);
}

function publishedBy(address: string) {
  return { proto: "tcp", address, port: PUBLISHED_PORT } as const;
}
