/** `mesh up` with a service that is malicious or faulty, or at an address that proves nothing. */
import assert from "node:assert/strict";
import { eventually } from "../../wireguard/hosts/run_program.ts";
import { Mesh, putRule, TCP_443 } from "../../wireguard/hosts/mesh_of_hosts.ts";
import { untilPingAnswered } from "../../wireguard/hosts/probes.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { ServiceDoor } from "../../wireguard/hosts/service_door.ts";
import { agentfiles, placeOf, startUp, untilSaid } from "../hosts/typed.ts";

const NEWER_VERSION = 10_000;

tunnelTest(
  "/wg_config with a value that is no data of its kind → it is named, and the tunnel and the rules stay as they were",
  async () => {
    await using mesh = await Mesh.create();
    const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
    await putRule({ from: alice, to: bob, ...TCP_443 });
    mesh.attach(await ServiceDoor.open(alice.host));
    const door = mesh.attach(await ServiceDoor.open(bob.host));
    for (const member of [alice, bob]) {
      await startUp(member);
      await untilSaid(member, "is applied");
    }
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    const state = async () => [
      await bob.host.run(["nft", "-s", "list", "ruleset"]),
      await bob.host.run(["wg", "show", bob.interfaceName, "allowed-ips"]),
      await Deno.readTextFile(`${bob.host.directory}/run/${bob.interfaceName}.json`),
    ];
    const before = await state();
    const served = JSON.parse(before[2]!);
    const [peer] = served.peers;
    const hostile = {
      "outside of the mesh|of the mesh": { allowed_ips: ["0.0.0.0/0", "::/0"] },
      "an endpoint of .* is malformed": { endpoints: ["$(touch /tmp/x):1"] },
      "a peer's agent_id is malformed": { agent_id: "x\ny" },
    };
    for (const [named, change] of Object.entries(hostile)) {
      door.replaceAnswers({
        "/wait": { config_version: NEWER_VERSION, heartbeat_interval_seconds: 1 },
        "/wg_config": {
          ...served,
          config_version: NEWER_VERSION,
          peers: [{ ...peer, ...change }],
        },
      });
      await untilSaid(bob, new RegExp(`the configuration is refused: .*(?:${named})`));
    }
    assert.deepEqual(await state(), before);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    const { output } = await agentfiles(bob, [
      "mesh",
      "up",
      "--status",
      "--json",
      ...placeOf(bob),
    ]);
    assert.match(JSON.parse(output).trouble, /the configuration is refused/);
  },
);

for (const url of ["http://198.51.100.9", "http://127.0.0.1@example.com"]) {
  tunnelTest(`the service at ${url} → said, and nothing is sent or made`, async () => {
    await using mesh = await Mesh.create();
    const bob = await mesh.join("bob");
    const child = await startUp(bob, {
      environment: { MESH_URL: `${url}/functions/v1/agent-mesh` },
    });
    assert.equal((await child.status).code, 1);
    await untilSaid(bob, "must begin with https://");
    assert.equal(await bob.host.run(["nft", "list", "tables"]), "");
  });
}

tunnelTest("the agent key is in no command line, and no PSK in a log", async () => {
  await using mesh = await Mesh.create();
  const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
  await putRule({ from: alice, to: bob, ...TCP_443 });
  mesh.attach(await ServiceDoor.open(bob.host));
  await startUp(bob);
  await untilSaid(bob, "is applied");
  const script = 'for pid in $(ip netns pids "$0"); do cat /proc/$pid/cmdline || :; done 2>&1';
  await eventually("it runs", {
    condition: async () => {
      const lines = await bob.host.run(["sh", "-c", script, bob.host.namespace]);
      assert.ok(!lines.includes(bob.agent.key.slice(0, 12)));
      return lines.includes("mesh\0up");
    },
  });
  const log = await bob.host.readLog("mesh-up.log");
  const psks = await bob.host.run(["wg", "show", bob.interfaceName, "preshared-keys"]);
  for (const secret of [bob.agent.key, psks.trim().split("\t")[1]!]) {
    assert.ok(!log.includes(secret));
  }
});
