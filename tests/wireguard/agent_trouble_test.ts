import assert from "node:assert/strict";
import { eventually } from "./command.ts";
import { joinWithAgents } from "./example_agent.ts";
import { hasInterface, type Member, Mesh } from "./mesh_of_hosts.ts";
import { listen, reaches, untilPingAnswered } from "./probes.ts";
import { tunnelTest } from "./requirements.ts";

const TCP_80 = { proto: "tcp", port: 80 } as const;

tunnelTest("nft flush ruleset → the firewall is loaded again, and closes what it did", async () => {
  await using mesh = await Mesh.create();
  const { alice, bob } = await joinWithAgents(mesh);
  await listen(bob.host, TCP_80);
  await untilPingAnswered(alice.host, { address: bob.ipv4 });
  const table = await bob.host.run(["nft", "list", "ruleset"]);
  await bob.host.run(["nft", "flush", "ruleset"]);
  await eventually("bob's firewall is back", {
    withinSeconds: 20,
    condition: async () => await bob.host.run(["nft", "list", "ruleset"]) === table,
  });
  assert.equal(await reaches(alice.host, { ...TCP_80, address: bob.ipv4 }), false);
  await untilPingAnswered(alice.host, { address: bob.ipv4 });
});

tunnelTest("a firewall that is gone and does not load → the tunnel goes down", async () => {
  await using mesh = await Mesh.create();
  const { bob } = await joinWithAgents(mesh);
  const path = `${bob.host.directory}/${bob.interfaceName}.conf`;
  const text = await Deno.readTextFile(path);
  // What the service has is out of reach too, or it would be up again at once.
  bob.example.door.failWith("", () => new Response("", { status: 401 }));
  await Deno.writeTextFile(path, text.replaceAll(/^#nft .*\n/gm, ""));
  await bob.host.run(["nft", "flush", "ruleset"]);
  await eventually("bob's tunnel is down", {
    withinSeconds: 20,
    condition: async () => !await hasInterface(bob),
  });
  assert.match(await bob.example.readLog(), /the firewall does not load/);
});

tunnelTest("ip link delete → the agent brings the same version up again", async () => {
  await using mesh = await Mesh.create();
  const { alice, bob } = await joinWithAgents(mesh);
  await untilPingAnswered(alice.host, { address: bob.ipv4 });
  await bob.host.run(["ip", "link", "delete", bob.interfaceName]);
  await untilPingAnswered(alice.host, { address: bob.ipv4 });
});

tunnelTest("SIGTERM again and again → down in order, and no file is left over", async () => {
  await using mesh = await Mesh.create();
  const { alice } = await joinWithAgents(mesh);
  assert.equal(await alice.example.stopImpatiently(), 0);
  assert.equal(await hasInterface(alice), false);
  assert.equal(await alice.host.run(["nft", "list", "tables"]), "");
  assert.deepEqual(hiddenFiles(alice), []);
});

tunnelTest("SIGKILL and a restart → what the killed run left over is removed", async () => {
  await using mesh = await Mesh.create();
  const { alice } = await joinWithAgents(mesh);
  await alice.example.stop("SIGKILL");
  const [left, ...more] = hiddenFiles(alice);
  assert.deepEqual(more, []);
  const leftOver = `${alice.host.directory}/${left}/left-over`;
  await Deno.writeTextFile(leftOver, "");
  alice.example.restart();
  await eventually("the restarted agent has removed it", {
    withinSeconds: 10,
    condition: () => Deno.stat(leftOver).then(() => false, () => true),
  });
  assert.deepEqual(hiddenFiles(alice), [left]);
});

const USELESS_ANSWERS: Record<string, () => Response> = {
  "503": () => new Response("", { status: 503 }),
  "429": () => new Response("", { status: 429 }),
  "200 without a word": () => new Response(""),
};

for (const [what, answer] of Object.entries(USELESS_ANSWERS)) {
  tunnelTest(
    `a start, and the service answers ${what} → the last configuration is up`,
    async () => {
      await using mesh = await Mesh.create();
      const { alice, bob } = await joinWithAgents(mesh);
      await alice.example.stop("SIGTERM");
      alice.example.door.failWith("", answer);
      alice.example.restart();
      await untilPingAnswered(alice.host, { address: bob.ipv4 });
    },
  );
}

tunnelTest("a start, and the service answers 401 → the tunnel stays down", async () => {
  await using mesh = await Mesh.create();
  const { alice } = await joinWithAgents(mesh);
  await alice.example.stop("SIGTERM");
  alice.example.door.failWith("", () => new Response("", { status: 401 }));
  alice.example.restart();
  await eventually("the agent has tried twice", {
    withinSeconds: 20,
    condition: () => Promise.resolve(alice.example.door.failuresGiven > 1),
  });
  assert.equal(await hasInterface(alice), false);
});

tunnelTest("no POLL_SECONDS, the service asks for 1 → a heartbeat each second", async () => {
  await using mesh = await Mesh.create();
  const { alice } = await joinWithAgents(mesh);
  await alice.example.stop("SIGTERM");
  alice.example.door.failWith(
    "/peer/heartbeat",
    () => Response.json({ config_version: 1, heartbeat_interval_seconds: 1 }),
  );
  alice.example.restart({ pollSeconds: null });
  // By default it would be one in thirty seconds.
  await eventually("three heartbeats", {
    withinSeconds: 20,
    condition: () => Promise.resolve(alice.example.door.failuresGiven > 2),
  });
});

/** The agent's working directories. */
function hiddenFiles({ host }: Member): string[] {
  return [...Deno.readDirSync(host.directory)].map(({ name }) => name)
    .filter((name) => name.startsWith("."));
}
