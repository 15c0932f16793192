import assert from "node:assert/strict";
import { eventually } from "./command.ts";
import { joinWithAgents } from "./example_agent.ts";
import { Mesh, putRule } from "./mesh_of_hosts.ts";
import { listen, Pings, reaches, untilPingAnswered } from "./probes.ts";
import { tunnelTest } from "./requirements.ts";

const TCP_80 = { proto: "tcp", port: 80 } as const;

tunnelTest(
  "a second agent for the interface → it says so and ends, the first and its tunnel go on",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    const pings = Pings.start(alice.host, bob.ipv4);

    const { code, log } = await bob.example.runSecond();
    assert.equal(code, 1);
    assert.match(log, /^[^\n]+: another agent runs for this interface: [^\n]+\.lock\n$/);

    await listen(bob.host, TCP_80);
    await putRule({ from: alice, to: bob, ...TCP_80 });
    await bob.example.untilApplied();
    assert.equal(await reaches(alice.host, { ...TCP_80, address: bob.ipv4 }), true);
    assert.deepEqual((await pings.stop()).lost, []);
  },
);

tunnelTest(
  "SIGKILL during a request and a lookup → neither keeps a restart from running",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    const carol = await mesh.join("carol", { endpoint: "carol.example:51820" });
    await putRule({ from: alice, to: carol, ...TCP_80 });
    await alice.example.untilApplied();
    // A request that hangs.
    await alice.host.run(["nft", "-f", "-"], {
      input: `table inet silence {
        chain output { type filter hook output priority filter; oifname "lo" drop; }
      }`,
    });
    await eventually("a request and a lookup run", {
      withinSeconds: 20,
      condition: async () => {
        const processes = await alice.host.processes();
        return /^curl /m.test(processes) && /^wg set .* carol\.example/m.test(processes);
      },
    });
    await alice.example.stop("SIGKILL");
    alice.example.restart();
    await alice.host.run(["nft", "delete", "table", "inet", "silence"]);

    await putRule({ from: alice, to: bob, ...TCP_80 });
    await alice.example.untilApplied();
    assert.doesNotMatch(await alice.example.readLog(), /another agent/);
  },
);

tunnelTest("somebody's own hidden files beside the agent's → they stay", async () => {
  await using mesh = await Mesh.create();
  const { alice } = await joinWithAgents(mesh);
  const { directory } = alice.host;
  const names = ["backup", "conf.d", "mesh-agent-too"].map((end) =>
    `.${alice.interfaceName}.${end}`
  );
  for (const name of names) await Deno.writeTextFile(`${directory}/${name}`, "mine");
  await alice.example.stop("SIGKILL");
  alice.example.restart();
  await eventually("the agent has registered again", {
    withinSeconds: 10,
    condition: async () => (await alice.example.readLog()).split("registered: ").length === 3,
  });
  assert.equal(await alice.example.stop("SIGTERM"), 0);
  const hidden = [...Deno.readDirSync(directory)].map(({ name }) => name)
    .filter((name) => name.startsWith("."));
  assert.deepEqual(hidden.toSorted(), names);
});
