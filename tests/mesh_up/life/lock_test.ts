import assert from "node:assert/strict";
import { eventually } from "../../wireguard/hosts/run_program.ts";
import { Mesh, putRule, TCP_80 } from "../../wireguard/hosts/mesh_of_hosts.ts";
import { listen, Pings, reaches } from "../../wireguard/hosts/probes.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import {
  hangRequests,
  type HostAgent,
  joinWithAgents,
  letRequestsPass,
} from "../hosts/host_agent.ts";

tunnelTest(
  "a second agent for the interface → it says so and ends; the first and its tunnel go on",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    const pings = Pings.start(alice.host, bob.ipv4);

    const { code, log } = await bob.meshAgent.runSecond();
    assert.equal(code, 1);
    assert.match(log, /^[^\n]+: another agent runs for this interface: [^\n]+\.lock\n$/);

    await listen(bob.host, TCP_80);
    await putRule({ from: alice, to: bob, ...TCP_80 });
    await bob.meshAgent.untilApplied();
    assert.equal(await reaches(alice.host, { ...TCP_80, address: bob.ipv4 }), true);
    assert.deepEqual((await pings.stop()).lost, []);
  },
);

tunnelTest(
  "SIGKILL during a request and a lookup → neither keeps the lock: a restart runs",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    const carol = await mesh.join("carol", { endpoint: "carol.example:51820" });
    await putRule({ from: alice, to: carol, ...TCP_80 });
    await alice.meshAgent.untilApplied();
    await hangRequests(alice.host);
    await eventually("the agent runs", {
      condition: async () => /mesh up/.test(await alice.host.processes()),
    });
    await alice.meshAgent.stop("SIGKILL");
    alice.meshAgent.restart();
    await letRequestsPass(alice.host);

    await putRule({ from: alice, to: bob, ...TCP_80 });
    await alice.meshAgent.untilApplied();
    assert.doesNotMatch(await alice.meshAgent.readLog(), /another agent/);
  },
);

tunnelTest("hidden files of somebody else beside the agent's → they stay", async () => {
  await using mesh = await Mesh.create();
  const { alice } = await joinWithAgents(mesh);
  const directory = alice.meshAgent.runDirectory;
  const names = ["backup", "conf.d", "mesh-agent-too"].map((end) =>
    `.${alice.interfaceName}.${end}`
  );
  for (const name of names) await Deno.writeTextFile(`${directory}/${name}`, "mine");
  await alice.meshAgent.stop("SIGKILL");
  alice.meshAgent.restart();
  await untilRegisteredAgain(alice.meshAgent);
  assert.equal(await alice.meshAgent.stop("SIGTERM"), 0);
  assert.deepEqual(alice.meshAgent.hiddenFiles(), names);
});

async function untilRegisteredAgain(meshAgent: HostAgent): Promise<void> {
  await eventually("the agent has registered again", {
    condition: async () => (await meshAgent.readLog()).split("registered with ").length === 3,
  });
}
