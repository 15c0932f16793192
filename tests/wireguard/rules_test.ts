import assert from "node:assert/strict";
import { post } from "../conformance/client.ts";
import {
  bringUp,
  FIREWALL_HOOK,
  hasInterface,
  type Member,
  Mesh,
  putRule,
  ruleBody,
  runHook,
  servedConfiguration,
  takeDown,
  TCP_443,
  UDP_443,
} from "./hosts/mesh_of_hosts.ts";
import { answersPing, listen, reaches, untilPingAnswered } from "./hosts/probes.ts";
import { tunnelTest } from "./hosts/requirements.ts";

const TCP_444 = { proto: "tcp", port: 444 } as const;

tunnelTest(
  "rules alice → bob tcp 443 and bob → carol tcp 444 → these two of seven connections, IPv4 and IPv6",
  async () => {
    await using mesh = await Mesh.create();
    const [alice, bob, carol] = [
      await mesh.join("alice"),
      await mesh.join("bob"),
      await mesh.join("carol"),
    ];
    await putRule({ from: alice, to: bob, ...TCP_443 });
    // carol is bob's peer, but no rule allows her to reach him.
    await putRule({ from: bob, to: carol, ...TCP_444 });
    for (const member of [alice, bob, carol]) {
      for (const target of [TCP_443, UDP_443, TCP_444]) await listen(member.host, target);
      await bringUp(member);
    }
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    await untilPingAnswered(carol.host, { address: bob.ipv4 });

    const outcomes = await Promise.all([
      attempt(alice, bob, TCP_443),
      attempt(alice, bob, TCP_444),
      attempt(alice, bob, UDP_443),
      attempt(bob, alice, TCP_443),
      attempt(carol, bob, TCP_443),
      attempt(bob, carol, TCP_444),
      attempt(alice, carol, TCP_443),
    ]);
    assert.deepEqual(outcomes, [
      "alice → bob tcp 443: IPv4 reaches, IPv6 reaches",
      "alice → bob tcp 444: IPv4 is cut off, IPv6 is cut off",
      "alice → bob udp 443: IPv4 is cut off, IPv6 is cut off",
      "bob → alice tcp 443: IPv4 is cut off, IPv6 is cut off",
      "carol → bob tcp 443: IPv4 is cut off, IPv6 is cut off",
      "bob → carol tcp 444: IPv4 reaches, IPv6 reaches",
      "alice → carol tcp 443: IPv4 is cut off, IPv6 is cut off",
    ]);
  },
);

tunnelTest("rule alice → bob udp 53 → datagrams and their replies pass, TCP does not", async () => {
  await using mesh = await Mesh.create();
  const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
  await putRule({ from: alice, to: bob, proto: "udp", port: 53 });
  for (const proto of ["udp", "tcp"] as const) await listen(bob.host, { proto, port: 53 });
  for (const member of [alice, bob]) await bringUp(member);
  await untilPingAnswered(alice.host, { address: bob.ipv4 });
  assert.deepEqual([
    await attempt(alice, bob, { proto: "udp", port: 53 }),
    await attempt(alice, bob, { proto: "tcp", port: 53 }),
  ], [
    "alice → bob udp 53: IPv4 reaches, IPv6 reaches",
    "alice → bob tcp 53: IPv4 is cut off, IPv6 is cut off",
  ]);
});

tunnelTest("a tunnel with its firewall → ports on other interfaces stay open", async () => {
  await using mesh = await Mesh.create();
  const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
  await putRule({ from: alice, to: bob, ...TCP_443 });
  await listen(bob.host, TCP_444);
  const outside = { ...TCP_444, address: bob.host.address ?? "" };
  assert.equal(await reaches(alice.host, outside), true);
  for (const member of [alice, bob]) await bringUp(member);
  await untilPingAnswered(alice.host, { address: bob.ipv4 });
  assert.equal(await reaches(alice.host, { ...TCP_444, address: bob.ipv4 }), false);
  assert.equal(await reaches(alice.host, outside), true);
  assert.equal(await reaches(bob.host, { ...TCP_444, address: "127.0.0.1" }), true);
});

tunnelTest("wg-quick down → no nftables table and no interface is left over", async () => {
  await using mesh = await Mesh.create();
  const alice = await mesh.join("alice");
  await bringUp(alice);
  const tables = await alice.host.run(["nft", "list", "tables"]);
  assert.equal(tables, `table inet agent_mesh_${alice.interfaceName}\n`);
  await takeDown(alice);
  assert.equal(await alice.host.run(["nft", "list", "tables"]), "");
  assert.equal(await hasInterface(alice), false);
});

tunnelTest(
  "an interface name that nft refuses → up and down, with another name for the table",
  async () => {
    await using mesh = await Mesh.create();
    const joined = await mesh.join("alice");
    const alice = { ...joined, interfaceName: `${joined.interfaceName}=+.-x` };
    await Deno.rename(
      `${alice.host.directory}/${joined.interfaceName}.key`,
      `${alice.host.directory}/${alice.interfaceName}.key`,
    );
    await bringUp(alice);
    const tables = await alice.host.run(["nft", "list", "tables"]);
    assert.equal(tables, `table inet agent_mesh_${joined.interfaceName}__.-x\n`);
    await takeDown(alice);
    assert.equal(await alice.host.run(["nft", "list", "tables"]), "");
  },
);

tunnelTest("firewall none → up, and every port is open", async () => {
  await using mesh = await Mesh.create();
  const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
  await putRule({ from: alice, to: bob, ...TCP_443 });
  await listen(bob.host, TCP_444);
  await bringUp(alice);
  await bringUp(bob, { firewall: "none" });
  await untilPingAnswered(alice.host, { address: bob.ipv4 });
  assert.equal(await reaches(alice.host, { ...TCP_444, address: bob.ipv4 }), true);
  await takeDown(bob);
  assert.equal(await bob.host.run(["nft", "list", "tables"]), "");
});

tunnelTest("no private key file → wg-quick up fails and leaves no interface", async () => {
  await using mesh = await Mesh.create();
  const alice = await mesh.join("alice");
  await Deno.remove(`${alice.host.directory}/${alice.interfaceName}.key`);
  await assert.rejects(bringUp(alice), /fopen: No such file/);
  assert.equal(await hasInterface(alice), false);
});

tunnelTest(
  "a file without its comments → wg-quick up fails: no tunnel without a firewall",
  async () => {
    await using mesh = await Mesh.create();
    const alice = await mesh.join("alice");
    const text = await servedConfiguration(alice);
    const path = `${alice.host.directory}/${alice.interfaceName}.conf`;
    await Deno.writeTextFile(path, text.replaceAll(/^#.*\n/gm, ""));
    await assert.rejects(alice.host.run(["wg-quick", "up", path]), /: no firewall from /);
    assert.equal(await hasInterface(alice), false);
  },
);

tunnelTest(
  "a file without its comments beside a loaded table → its first hook fails, the table stays",
  async () => {
    await using mesh = await Mesh.create();
    const alice = await mesh.join("alice");
    await bringUp(alice);
    const before = await alice.host.run(["nft", "list", "ruleset"]);
    const text = (await servedConfiguration(alice)).replaceAll(/^#nft .*\n/gm, "");
    const { success, errors } = await runHook(alice, { text, hook: FIREWALL_HOOK });
    assert.equal(success, false);
    assert.match(errors, /: no firewall from /);
    assert.equal(await alice.host.run(["nft", "list", "ruleset"]), before);
  },
);

tunnelTest("a host without IPv6 → wg-quick up succeeds, and IPv4 works", async () => {
  await using mesh = await Mesh.create();
  const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
  await putRule({ from: alice, to: bob, ...TCP_443 });
  await alice.host.run(["sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1"]);
  for (const member of [alice, bob]) await bringUp(member);
  await untilPingAnswered(alice.host, { address: bob.ipv4 });
  assert.equal(await answersPing(alice.host, bob.ipv6), false);
});

tunnelTest(
  "/acl/put by one side → no packet passes; by the other side too → the port is open",
  async () => {
    await using mesh = await Mesh.create();
    const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
    const rule = { from: alice, to: bob, ...TCP_443 };
    await listen(bob.host, TCP_443);

    await post("/agent-mesh/acl/put", { as: alice.agent, body: ruleBody(rule) });
    for (const member of [alice, bob]) {
      assert.ok(!(await servedConfiguration(member)).includes("[Peer]"));
      await bringUp(member);
    }
    assert.equal(await reaches(alice.host, { ...TCP_443, address: bob.ipv4 }), false);
    for (const member of [alice, bob]) await takeDown(member);

    await post("/agent-mesh/acl/put", { as: bob.agent, body: ruleBody(rule) });
    for (const member of [alice, bob]) await bringUp(member);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    assert.equal(await reaches(alice.host, { ...TCP_443, address: bob.ipv4 }), true);
  },
);

async function attempt(
  from: Member,
  to: Member,
  target: { proto: "tcp" | "udp"; port: number },
): Promise<string> {
  const [ipv4, ipv6] = await Promise.all([to.ipv4, to.ipv6].map(async (address) => {
    return await reaches(from.host, { ...target, address }) ? "reaches" : "is cut off";
  }));
  const [fromName, toName] = [from, to].map(({ agent }) => agent.id.split("-")[0]);
  const { proto, port } = target;
  return `${fromName} → ${toName} ${proto} ${port}: IPv4 ${ipv4}, IPv6 ${ipv6}`;
}
