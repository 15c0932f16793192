import assert from "node:assert/strict";
import { eventually } from "./command.ts";
import { bringUp, type Member, Mesh, peerField, putRule, TUNNEL_PORT } from "./mesh.ts";
import { answersPing, listen, reaches, untilPingAnswered } from "./probes.ts";
import { tunnelTest } from "./requirements.ts";

const RULE = { proto: "tcp", port: 443 } as const;

tunnelTest("an endpoint name that resolves → the tunnel opens by it", async () => {
  await using mesh = await Mesh.create();
  const bob = await mesh.join("bob", { endpoint: `bob.example:${TUNNEL_PORT}` });
  const alice = await mesh.join("alice", { behindNat: true });
  await alice.host.resolve("bob.example", bob.host.address ?? "");
  await putRule({ from: alice, to: bob, ...RULE });
  for (const member of [alice, bob]) await bringUp(member);
  await untilPingAnswered(alice.host, { address: bob.ipv4 });
});

tunnelTest("a peer's name that does not resolve → wg-quick up does not wait for it", async () => {
  await using mesh = await Mesh.create();
  const alice = await mesh.join("alice");
  const bob = await mesh.join("bob");
  const carol = await mesh.join("carol", { endpoint: `carol.invalid:${TUNNEL_PORT}` });
  for (const to of [bob, carol]) await putRule({ from: alice, to, ...RULE });
  for (const member of [alice, bob]) await bringUp(member);
  // Still looking it up while wg-quick has ended and the other tunnel works.
  await untilPingAnswered(alice.host, { address: bob.ipv4 });
  assert.match(await processesOf(alice), /wg set .* endpoint carol\.invalid:51820/);
  assert.equal(await peerField(alice, { peer: carol, field: "endpoints" }), "(none)");
});

tunnelTest("a live peer's name resolves into the mesh → nothing is sent in a loop", async () => {
  await using mesh = await Mesh.create();
  const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
  const mallory = await mesh.join("mallory", { endpoint: `mallory.example:${TUNNEL_PORT}` });
  for (const to of [bob, mallory]) await putRule({ from: alice, to, ...RULE });
  await listen(bob.host, RULE);
  for (const member of [alice, bob, mallory]) await bringUp(member);
  // The loop needs a session, which mallory begins while alice still looks for the name.
  await untilPingAnswered(mallory.host, { address: alice.ipv4 });
  await alice.host.resolve("mallory.example", mallory.ipv4);
  await eventually("mallory's name is looked up", {
    withinSeconds: 30,
    condition: async () =>
      await peerField(alice, { peer: mallory, field: "endpoints" }) ===
        `${mallory.ipv4}:${TUNNEL_PORT}`,
  });

  assert.equal(await answersPing(alice.host, mallory.ipv4), false);
  assert.ok(await sentBytes(alice) < 10_000);
  await untilPingAnswered(alice.host, { address: bob.ipv4 });
  assert.equal(await reaches(alice.host, { ...RULE, address: bob.ipv4 }), true);
});

function processesOf({ host }: Member): Promise<string> {
  const script =
    'for pid in $(ip netns pids "$0"); do tr "\\0" " " </proc/$pid/cmdline; echo; done';
  return host.run(["sh", "-c", script, host.namespace]);
}

async function sentBytes({ host, interfaceName }: Member): Promise<number> {
  return Number(
    await host.run(["cat", `/sys/class/net/${interfaceName}/statistics/tx_bytes`]),
  );
}
