import assert from "node:assert/strict";
import { eventually } from "../../wireguard/hosts/run_program.ts";
import { hasInterface, Mesh, TCP_80 } from "../../wireguard/hosts/mesh_of_hosts.ts";
import { listen, reaches, untilPingAnswered } from "../../wireguard/hosts/probes.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { joinWithAgents } from "../hosts/host_agent.ts";

tunnelTest(
  "nft flush ruleset → the same firewall is loaded again, and closes the same ports",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    await listen(bob.host, TCP_80);
    const table = await bob.host.run(["nft", "list", "ruleset"]);
    await bob.host.run(["nft", "flush", "ruleset"]);
    await eventually("bob's firewall is back", {
      condition: async () => await bob.host.run(["nft", "list", "ruleset"]) === table,
    });
    assert.equal(await reaches(alice.host, { ...TCP_80, address: bob.ipv4 }), false);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
  },
);

tunnelTest("ip link delete → the agent brings the same version up again", async () => {
  await using mesh = await Mesh.create();
  const { alice, bob } = await joinWithAgents(mesh);
  await bob.host.run(["ip", "link", "delete", bob.interfaceName]);
  await untilPingAnswered(alice.host, { address: bob.ipv4 });
});

tunnelTest(
  "SIGTERM again and again → the tunnel is taken down, and no file is left over",
  async () => {
    await using mesh = await Mesh.create();
    const { alice } = await joinWithAgents(mesh);
    assert.equal(await alice.meshAgent.stopImpatiently(), 0);
    assert.equal(await hasInterface(alice), false);
    assert.equal(await alice.host.run(["nft", "list", "tables"]), "");
    assert.deepEqual(alice.meshAgent.hiddenFiles(), []);
  },
);

const USELESS_ANSWERS: Record<string, () => Response> = {
  "503": () => new Response("", { status: 503 }),
  "429": () => new Response("", { status: 429 }),
  "200 and nothing else": () => new Response(""),
};

for (const [what, answer] of Object.entries(USELESS_ANSWERS)) {
  tunnelTest(
    `started while the service answers ${what} → the last configuration is up`,
    async () => {
      await using mesh = await Mesh.create();
      const { alice, bob } = await joinWithAgents(mesh);
      await alice.meshAgent.stop("SIGTERM");
      alice.meshAgent.door.failWith("", answer);
      alice.meshAgent.restart();
      await untilPingAnswered(alice.host, { address: bob.ipv4 });
    },
  );
}

tunnelTest(
  "killed while it changes the tunnel, started while the service answers 503 → the change is made",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    await alice.meshAgent.stop("SIGKILL");
    // While the agent sets a peer up again, the peer is missing for a moment.
    await alice.host.run(["wg", "set", alice.interfaceName, "peer", bob.publicKey, "remove"]);
    alice.meshAgent.door.failWith("", () => new Response("", { status: 503 }));
    alice.meshAgent.restart();
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
  },
);

tunnelTest(
  "started while the service answers 503 and something else has the interface's name → it says so",
  async () => {
    await using mesh = await Mesh.create();
    const { alice: { host, interfaceName, meshAgent } } = await joinWithAgents(mesh);
    await meshAgent.stop("SIGTERM");
    await host.run(["ip", "link", "add", interfaceName, "type", "veth", "peer", "name", "other"]);
    meshAgent.door.failWith("", () => new Response("", { status: 503 }));
    meshAgent.restart();
    await eventually("the agent has said so", {
      condition: async () =>
        (await meshAgent.readLog()).includes("the last configuration cannot be brought up"),
    });
  },
);

tunnelTest("started while the service answers 401 → the tunnel stays down", async () => {
  await using mesh = await Mesh.create();
  const { alice } = await joinWithAgents(mesh);
  await alice.meshAgent.stop("SIGTERM");
  alice.meshAgent.door.failWith("", () => new Response("", { status: 401 }));
  alice.meshAgent.restart();
  await eventually("the agent has tried twice", {
    condition: () => Promise.resolve(alice.meshAgent.door.failuresGiven > 1),
  });
  assert.equal(await hasInterface(alice), false);
});

tunnelTest(
  "no POLL_SECONDS, a service without /wait asks for 1 → heartbeats more often than by default",
  async () => {
    await using mesh = await Mesh.create();
    const { alice } = await joinWithAgents(mesh);
    const { door } = alice.meshAgent;
    await alice.meshAgent.stop("SIGTERM");
    const [, version] = /.*config_version (\d+) is applied/s.exec(await alice.meshAgent.readLog())!;
    door.lackWait();
    door.replaceAnswers({
      "/peer/heartbeat": { config_version: Number(version), heartbeat_interval_seconds: 1 },
    });
    alice.meshAgent.restart({ pollSeconds: null });
    // The default is one heartbeat in thirty seconds.
    await eventually("four heartbeats", {
      condition: () => Promise.resolve(door.countOf("/peer/heartbeat") > 3),
    });
    assert.equal(door.waitsMissed, 1);
  },
);
