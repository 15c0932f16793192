/** Heartbeats that wait, and the agent's behaviour if the service does not let them wait. */
import assert from "node:assert/strict";
import { eventually } from "../../wireguard/hosts/run_program.ts";
import {
  hasInterface,
  type Member,
  Mesh,
  putRule,
  revokeRule,
  TCP_443,
  TCP_80,
} from "../../wireguard/hosts/mesh_of_hosts.ts";
import { listen, reaches, untilPingAnswered } from "../../wireguard/hosts/probes.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { HostAgent, joinWithAgents, printSecondsUntil, untilWaiting } from "../hosts/host_agent.ts";

/** The longest time that the service lets a request wait. */
const LONGEST_WAIT_SECONDS = 140;

for (const behindNat of [false, true]) {
  const which = behindNat ? "agents, one behind NAT," : "agents";
  tunnelTest(
    `/acl/put and /acl/revoke while ${which} wait with their heartbeats → reachable, then closed`,
    async () => {
      await using mesh = await Mesh.create();
      const [alice, bob] = [await mesh.join("alice", { behindNat }), await mesh.join("bob")];
      const agents: HostAgent[] = [];
      for (const member of [alice, bob]) {
        agents.push(await HostAgent.start(member, { mesh, pollSeconds: null }));
      }
      for (const target of [TCP_80, TCP_443]) await listen(bob.host, target);

      /**
       * Lets each wait last for over a second. After three shorter waits in a row, an agent pauses
       * for a whole heartbeat interval.
       */
      async function untilQuiet(): Promise<void> {
        for (const { member, door } of agents) await untilWaiting(member, door);
        await new Promise((resolve) => setTimeout(resolve, 2000));
      }

      const rule = { from: alice, to: bob };
      await untilQuiet();
      await putRule({ ...rule, ...TCP_443 });
      await printSecondsUntil("the first rule → reachable", () => isOpen(rule, 443));
      await untilQuiet();
      await putRule({ ...rule, ...TCP_80 });
      await printSecondsUntil("another rule → reachable", () => isOpen(rule, 80));
      await untilQuiet();
      await revokeRule({ ...rule, ...TCP_80 });
      await printSecondsUntil("revoked → closed", async () => !await isOpen(rule, 80));
      // Check again with longer probes: a short one may fail because the machine is slow.
      for (const agent of agents) await agent.untilApplied();
      assert.equal(await reaches(alice.host, { ...TCP_443, address: bob.ipv4 }), true);
      assert.equal(await reaches(alice.host, { ...TCP_80, address: bob.ipv4 }), false);

      for (const { door } of agents) {
        assert.ok(door.waits.length > 0);
        assert.ok(
          door.waits.every((seconds) =>
            seconds >= 0.95 * LONGEST_WAIT_SECONDS && seconds <= LONGEST_WAIT_SECONDS
          ),
          `${door.waits}`,
        );
        assert.equal(door.countOf("/peer/heartbeat"), 0);
      }
    },
  );
}

tunnelTest(
  "SIGTERM while the agent waits → the request ends unanswered, the tunnel is down, nothing is left over",
  async () => {
    await using mesh = await Mesh.create();
    const { bob: { meshAgent, host, ...bob } } = await joinWithAgents(mesh, { pollSeconds: null });
    await untilWaiting({ host }, meshAgent.door);
    const { waitsAnswered } = meshAgent.door;
    assert.equal(await meshAgent.stop("SIGTERM"), 0);
    assert.doesNotMatch(await host.processes(), /mesh up/);
    assert.equal(meshAgent.door.waitsAnswered, waitsAnswered);
    assert.equal(await hasInterface({ host, ...bob }), false);
    assert.deepEqual(meshAgent.hiddenFiles(), []);
  },
);

tunnelTest(
  "SIGKILL while the agent waits → a restarted agent applies the next change",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh, { pollSeconds: null });
    await untilWaiting(bob, bob.meshAgent.door);
    await bob.meshAgent.stop("SIGKILL");
    bob.meshAgent.restart();
    await putRule({ from: alice, to: bob, ...TCP_80 });
    await bob.meshAgent.untilApplied();
    assert.doesNotMatch(await bob.meshAgent.readLog(), /another agent/);
  },
);

for (const how of ["ignored", "refused"] as const) {
  tunnelTest(
    `a service by which wait_seconds is ${how} → the agent asks once per interval, and applies changes`,
    async () => {
      await using mesh = await Mesh.create();
      const { alice, bob } = await joinWithAgents(mesh);
      await bob.meshAgent.stop("SIGTERM");
      bob.meshAgent.door.stopWaits(how);
      bob.meshAgent.restart({ pollSeconds: 4 });
      await untilPausing(bob.meshAgent, 4);
      await listen(bob.host, TCP_80);
      const rule = { from: alice, to: bob };
      await putRule({ ...rule, ...TCP_80 });
      await bob.meshAgent.untilApplied();
      await untilPingAnswered(alice.host, { address: bob.ipv4 });
      assert.equal(await reaches(alice.host, { ...TCP_80, address: bob.ipv4 }), true);
      await untilPausing(bob.meshAgent, 4);
    },
  );
}

tunnelTest(
  "a service that names another version than it serves, again and again → asked once per interval",
  async () => {
    await using mesh = await Mesh.create();
    const { bob } = await joinWithAgents(mesh, { pollSeconds: 4 });
    bob.meshAgent.door.replaceAnswers({
      "/wait": { config_version: 10_000, heartbeat_interval_seconds: 30 },
    });
    await untilPausing(bob.meshAgent, 4);
  },
);

tunnelTest(
  "a service that has answered 503 again and again → asked once per interval; back → the change is applied",
  async () => {
    await using mesh = await Mesh.create();
    // Use an interval that is none of the doubling pauses after failures: 2, 4, 8 s.
    const { alice, bob } = await joinWithAgents(mesh, { pollSeconds: 3 });
    const { door } = bob.meshAgent;
    door.failWith("", () => new Response("", { status: 503 }));
    await putRule({ from: alice, to: bob, ...TCP_80 });
    await untilPausing(bob.meshAgent, 3);
    const { failuresGiven } = door;
    await eventually("five requests more have failed", {
      condition: () => Promise.resolve(door.failuresGiven > failuresGiven + 4),
    });
    await untilPausing(bob.meshAgent, 3);
    door.recover();
    await bob.meshAgent.untilApplied();
  },
);

/** Waits until the agent of this host pauses for this many seconds, within a tenth. */
async function untilPausing({ door, member }: HostAgent, seconds: number): Promise<void> {
  const from = door.times.length;
  await eventually(`${member.host.namespace} pauses for ${seconds} s`, {
    // A pause is between the last request of a round and the first of the next one.
    condition: () => {
      const times = door.times.slice(from);
      return Promise.resolve(times.some((time, index) => {
        const pause = (time - (times[index - 1] ?? time)) / 1000;
        return pause >= 0.9 * seconds && pause <= 1.1 * seconds + 0.5;
      }));
    },
  });
}

/** Probes often, so that the printed time does not include a long probe timeout. */
function isOpen({ from, to }: { from: Member; to: Member }, port: number): Promise<boolean> {
  return reaches(from.host, { proto: "tcp", address: to.ipv4, port }, { withinSeconds: 0.3 });
}
