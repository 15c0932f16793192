import assert from "node:assert/strict";
import { eventually } from "./hosts/run_program.ts";
import { linkProgramsBut } from "./hosts/host.ts";
import {
  bringUp,
  type Member,
  Mesh,
  NAMES_HOOK,
  peerField,
  putRule,
  runHook,
  servedConfiguration,
  takeDown,
  TCP_443,
  TUNNEL_PORT,
  writeConfiguration,
} from "./hosts/mesh_of_hosts.ts";
import { answersPing, listen, reaches, untilPingAnswered } from "./hosts/probes.ts";
import { tunnelTest } from "./hosts/requirements.ts";

tunnelTest("an endpoint name that resolves → the tunnel opens", async () => {
  await using mesh = await Mesh.create();
  const bob = await mesh.join("bob", { endpoint: `bob.example:${TUNNEL_PORT}` });
  const alice = await mesh.join("alice", { behindNat: true });
  await alice.host.resolve("bob.example", bob.host.address ?? "");
  await putRule({ from: alice, to: bob, ...TCP_443 });
  for (const member of [alice, bob]) await bringUp(member);
  await untilPingAnswered(alice.host, { address: bob.ipv4 });
});

tunnelTest("a peer's name that does not resolve → wg-quick up does not wait for it", async () => {
  await using mesh = await Mesh.create();
  const alice = await mesh.join("alice");
  const bob = await mesh.join("bob");
  const carol = await mesh.join("carol", { endpoint: `carol.invalid:${TUNNEL_PORT}` });
  for (const to of [bob, carol]) await putRule({ from: alice, to, ...TCP_443 });
  for (const member of [alice, bob]) await bringUp(member);
  // The lookup continues after wg-quick has ended, and the other tunnel works.
  await untilPingAnswered(alice.host, { address: bob.ipv4 });
  assert.match(await alice.host.processes(), /getent ahosts carol\.invalid/);
  assert.equal(await peerField(alice, { peer: carol, field: "endpoints" }), "(none)");
});

tunnelTest(
  "peers' names that resolve to this host or into the mesh → they get no endpoint, another peer does",
  async () => {
    await using mesh = await Mesh.create();
    const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
    const addresses = ["127.0.0.1", alice.host.address!, alice.ipv4, bob.ipv4, "::1"];
    const astray: Member[] = [];
    for (const [index, address] of addresses.entries()) {
      const name = `astray-${index}.example`;
      astray.push(await mesh.join(`astray-${index}`, { endpoint: `${name}:${TUNNEL_PORT}` }));
      await alice.host.resolve(name, address);
    }
    const carol = await mesh.join("carol", { endpoint: `carol.example:${TUNNEL_PORT}` });
    await alice.host.resolve("carol.example", carol.host.address ?? "");
    for (const to of [bob, ...astray, carol]) await putRule({ from: alice, to, ...TCP_443 });
    await bringUp(alice);
    await eventually("carol's name was looked up", {
      condition: async () =>
        await peerField(alice, { peer: carol, field: "endpoints" }) ===
          `${carol.host.address}:${TUNNEL_PORT}`,
    });
    await eventually("every name was looked up", {
      condition: async () => !(await alice.host.processes()).includes("sh -c for n in"),
    });
    for (const [index, peer] of astray.entries()) {
      const endpoint = await peerField(alice, { peer, field: "endpoints" });
      assert.equal(endpoint, "(none)", addresses[index]!);
    }
  },
);

tunnelTest(
  "firewall none on a host without nft → the tunnel opens, and a line says so",
  async () => {
    await using mesh = await Mesh.create();
    const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
    await putRule({ from: alice, to: bob, ...TCP_443 });
    await bringUp(alice);
    const path = await writeConfiguration(
      bob,
      await servedConfiguration(bob, { firewall: "none" }),
    );
    const programs = await linkProgramsBut("nft", bob.host.directory);
    const { success, errors } = await bob.host.runAnyhow([
      "env",
      `PATH=${programs}`,
      "wg-quick",
      "up",
      path,
    ]);
    assert.equal(success, true, errors);
    assert.match(errors, /: nft has not loaded the guard against loops\n/);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    await takeDown(bob);
  },
);

tunnelTest(
  "an endpoint inside the mesh, firewall none → a ping is not sent in a loop",
  async () => {
    await using mesh = await Mesh.create();
    const [alice, mallory] = [await mesh.join("alice"), await mesh.join("mallory")];
    await putRule({ from: alice, to: mallory, ...TCP_443 });
    await bringUp(alice, { firewall: "none" });
    await bringUp(mallory);
    await untilPingAnswered(mallory.host, { address: alice.ipv4 });
    await setEndpointInsideMesh(alice, mallory);
    assert.equal(await answersPing(alice.host, mallory.ipv4), false);
    assert.ok(await sentBytes(alice) < 10_000);
  },
);

tunnelTest(
  "a peer has moved, then its name is looked up again → its new endpoint stays",
  async () => {
    await using mesh = await Mesh.create();
    const alice = await mesh.join("alice");
    const bob = await mesh.join("bob", { endpoint: `bob.example:${TUNNEL_PORT}` });
    await putRule({ from: alice, to: bob, ...TCP_443 });
    await alice.host.resolve("bob.example", bob.host.address ?? "");
    for (const member of [alice, bob]) await bringUp(member);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    await bob.host.run(["wg", "set", bob.interfaceName, "listen-port", "40000"]);
    await untilPingAnswered(bob.host, { address: alice.ipv4 });

    await runHook(alice, { text: await servedConfiguration(alice), hook: NAMES_HOOK });
    assert.equal(
      await peerField(alice, { peer: bob, field: "endpoints" }),
      `${bob.host.address}:40000`,
    );
  },
);

tunnelTest("a peer has been removed when its name resolves → it does not come back", async () => {
  await using mesh = await Mesh.create();
  const alice = await mesh.join("alice");
  const carol = await mesh.join("carol", { endpoint: `carol.example:${TUNNEL_PORT}` });
  await putRule({ from: alice, to: carol, ...TCP_443 });
  await bringUp(alice);
  await alice.host.run(["wg", "set", alice.interfaceName, "peer", carol.publicKey, "remove"]);
  await alice.host.resolve("carol.example", carol.host.address ?? "");
  await runHook(alice, { text: await servedConfiguration(alice), hook: NAMES_HOOK });
  await eventually("no name is looked up any more", {
    condition: async () => !(await alice.host.processes()).includes("getent"),
  });
  assert.equal(await peerField(alice, { peer: carol, field: "endpoints" }), undefined);
});

tunnelTest(
  "an endpoint inside the mesh → nothing is sent in a loop, and other peers are reached",
  async () => {
    await using mesh = await Mesh.create();
    const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
    const mallory = await mesh.join("mallory");
    for (const to of [bob, mallory]) await putRule({ from: alice, to, ...TCP_443 });
    await listen(bob.host, TCP_443);
    for (const member of [alice, bob, mallory]) await bringUp(member);
    // A loop is only possible with a session.
    await untilPingAnswered(mallory.host, { address: alice.ipv4 });
    await setEndpointInsideMesh(alice, mallory);

    assert.equal(await answersPing(alice.host, mallory.ipv4), false);
    assert.ok(await sentBytes(alice) < 10_000);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    assert.equal(await reaches(alice.host, { ...TCP_443, address: bob.ipv4 }), true);
  },
);

/**
 * Sets the endpoint to mallory's address in the mesh, as a name that mallory registers could do.
 */
async function setEndpointInsideMesh({ host, interfaceName }: Member, mallory: Member) {
  const endpoint = `${mallory.ipv4}:${TUNNEL_PORT}`;
  await host.run(["wg", "set", interfaceName, "peer", mallory.publicKey, "endpoint", endpoint]);
}

async function sentBytes({ host, interfaceName }: Member): Promise<number> {
  return Number(
    await host.run(["cat", `/sys/class/net/${interfaceName}/statistics/tx_bytes`]),
  );
}
