import assert from "node:assert/strict";
import { succeed } from "../../conformance/client.ts";
import { eventually } from "../../wireguard/hosts/run_program.ts";
import {
  bringUp,
  hasInterface,
  type Member,
  Mesh,
  peerField,
  putRule,
  TCP_443,
  TCP_80,
} from "../../wireguard/hosts/mesh_of_hosts.ts";
import {
  answersPing,
  listen,
  Pings,
  reaches,
  untilPingAnswered,
} from "../../wireguard/hosts/probes.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { hangRequests, HostAgent, joinWithAgents } from "../hosts/host_agent.ts";

tunnelTest(
  "SIGTERM → the tunnel is down, the peer and its rules stay; a restart reaches its peer again",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);

    assert.equal(await alice.meshAgent.stop("SIGTERM"), 0);
    assert.equal(await hasInterface(alice), false);
    assert.equal(await alice.host.run(["nft", "list", "tables"]), "");
    assert.ok(await peerField(bob, { peer: alice, field: "endpoints" }));

    alice.meshAgent.restart();
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
  },
);

tunnelTest(
  "SIGKILL and a restart → no ping is lost, and a change made in between is applied",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    await listen(alice.host, TCP_80);
    // Wait for a session. Without one, the tunnel would wait for WireGuard's next handshake, 5 s
    // later.
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    const pings = Pings.start(alice.host, bob.ipv4);

    await alice.meshAgent.stop("SIGKILL");
    await putRule({ from: bob, to: alice, ...TCP_80 });
    alice.meshAgent.restart();
    await alice.meshAgent.untilApplied();
    assert.equal(await reaches(bob.host, { ...TCP_80, address: alice.ipv4 }), true);
    assert.deepEqual((await pings.stop()).lost, []);
  },
);

tunnelTest(
  "another private key → the agent registers it, restarts the tunnel, and reaches its peer",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    await alice.meshAgent.untilRunsWith(await alice.meshAgent.replacePrivateKey());
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
  },
);

const UNUSABLE_ANSWERS: Record<string, () => Response> = {
  "/wait: 503": () => new Response("", { status: 503, headers: { "retry-after": "1" } }),
  "/wait: 503, retry-after with a zero": () =>
    new Response("", { status: 503, headers: { "retry-after": "08" } }),
  "/wg_config: 502": () => new Response("<html>", { status: 502 }),
  "/wg_config: 200, nothing": () => new Response(""),
  "/wg_config: 200, an empty text": () => Response.json({ config_version: 10_000, config: "" }),
  "/wg_config: 200, null": () => Response.json({ config_version: 10_000, config: null }),
  "/wg_config: 200, truncated": () =>
    new Response('{"config_version": 10000, "config": "[Interface]\\n'),
};

tunnelTest(
  "an answer that is an error, empty or truncated → the tunnel stays; the next good one is applied",
  async () => {
    await using mesh = await Mesh.create();
    const alice = await mesh.join("alice");
    const meshAgents: HostAgent[] = [];
    for (const answer of Object.keys(UNUSABLE_ANSWERS)) {
      const member = await mesh.join(`gets${answer.replaceAll(/\W+/g, "-")}`);
      await putRule({ from: alice, to: member, ...TCP_443 });
      meshAgents.push(await HostAgent.start(member, { mesh }));
    }
    await bringUp(alice);

    await Promise.all(
      Object.entries(UNUSABLE_ANSWERS).map(async ([what, answer], index) => {
        const meshAgent = meshAgents[index];
        assert.ok(meshAgent);
        const { ipv4 } = meshAgent.member;
        await untilPingAnswered(alice.host, { address: ipv4 });
        const file = meshAgent.configurationFile;
        const before = await Deno.readTextFile(file);

        const path = what.split(":")[0] ?? "";
        meshAgent.door.failWith(path, answer);
        if (path === "/wait") {
          await eventually("the heartbeat that was under way is over", {
            condition: () => Promise.resolve(meshAgent.door.failuresGiven > 0),
          });
        }
        const given = meshAgent.door.failuresGiven;
        await putRule({ from: alice, to: meshAgent.member, ...TCP_80 });
        await eventually(`an agent got ${what} and tried again`, {
          condition: () => Promise.resolve(meshAgent.door.failuresGiven > given + 1),
        });
        assert.equal(await answersPing(alice.host, ipv4), true, what);
        assert.equal(await Deno.readTextFile(file), before, what);

        meshAgent.door.recover();
        await meshAgent.untilApplied();
        assert.notEqual(await Deno.readTextFile(file), before, what);
      }),
    );
  },
);

tunnelTest(
  "/peer/remove by the operator → registered again, without a peer",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    await succeed("/agent-mesh/peer/remove", {
      as: "operator",
      body: { agent_id: alice.agent.id },
    });
    for (const member of [alice, bob]) {
      await eventually(`${member.agent.id} has no peer`, {
        condition: async () => await peersOf(member) === "",
      });
    }
    assert.equal(await answersPing(alice.host, bob.ipv4), false);
  },
);

tunnelTest(
  "a request with the agent key → the key is in no command line and in no log line",
  async () => {
    await using mesh = await Mesh.create();
    const { alice } = await joinWithAgents(mesh);
    const secret = alice.agent.key.slice(0, 12);
    // Let a request hang, so that the test can inspect its process.
    await hangRequests(alice.host);
    const script = 'for pid in $(ip netns pids "$0"); do cat /proc/$pid/cmdline || :; done 2>&1';
    await eventually("the agent is seen in a list of processes", {
      condition: async () => {
        const commandLines = await alice.host.run(["sh", "-c", script, alice.host.namespace]);
        assert.ok(!commandLines.includes(secret));
        return commandLines.includes("mesh\0up");
      },
    });
    assert.ok(!(await alice.meshAgent.readLog()).includes(secret));
  },
);

async function peersOf({ host, interfaceName }: Member): Promise<string> {
  return (await host.run(["wg", "show", interfaceName, "peers"])).trim();
}
