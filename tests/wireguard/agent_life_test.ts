import assert from "node:assert/strict";
import { succeed } from "../conformance/client.ts";
import { eventually } from "./command.ts";
import { ExampleAgent, joinWithAgents } from "./example_agent.ts";
import { bringUp, hasInterface, type Member, Mesh, peerField, putRule } from "./mesh_of_hosts.ts";
import { answersPing, listen, Pings, reaches, untilPingAnswered } from "./probes.ts";
import { tunnelTest } from "./requirements.ts";

const TCP_443 = { proto: "tcp", port: 443 } as const;
const TCP_80 = { proto: "tcp", port: 80 } as const;

tunnelTest(
  "SIGTERM → the tunnel is down, the peer and its rules stay; a restart is back",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });

    assert.equal(await alice.example.stop("SIGTERM"), 0);
    assert.equal(await hasInterface(alice), false);
    assert.equal(await alice.host.run(["nft", "list", "tables"]), "");
    assert.ok(await peerField(bob, { peer: alice, field: "endpoints" }));

    alice.example.restart();
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
  },
);

tunnelTest("SIGKILL and a restart → the tunnel was never down", async () => {
  await using mesh = await Mesh.create();
  const { alice, bob } = await joinWithAgents(mesh);
  await listen(alice.host, TCP_80);
  await untilPingAnswered(alice.host, { address: bob.ipv4 });
  const pings = Pings.start(alice.host, bob.ipv4);

  await alice.example.stop("SIGKILL");
  await putRule({ from: bob, to: alice, ...TCP_80 });
  alice.example.restart();
  await alice.example.untilApplied();
  assert.equal(await reaches(bob.host, { ...TCP_80, address: alice.ipv4 }), true);
  assert.deepEqual((await pings.stop()).lost, []);
});

tunnelTest(
  "another private key → the agent registers it, goes down and up, and is reached",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    const key = (await alice.host.run(["wg", "genkey"])).trim();
    await Deno.writeTextFile(`${alice.host.directory}/${alice.interfaceName}.key`, key);
    const publicKey = await alice.host.run(["wg", "pubkey"], { input: key });
    await eventually("alice runs with the new key", {
      withinSeconds: 20,
      condition: async () => await ownPublicKey(alice) === publicKey,
    });
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
  },
);

const UNUSABLE_ANSWERS: Record<string, () => Response> = {
  "/peer/heartbeat: 503": () => new Response("", { status: 503, headers: { "retry-after": "1" } }),
  "/peer/heartbeat: 503, padded": () =>
    new Response("", { status: 503, headers: { "retry-after": "08" } }),
  "/wg_config: 502": () => new Response("<html>", { status: 502 }),
  "/wg_config: 200, nothing": () => new Response(""),
  "/wg_config: 200, an empty text": () => Response.json({ config_version: 10_000, config: "" }),
  "/wg_config: 200, null": () => Response.json({ config_version: 10_000, config: null }),
  "/wg_config: 200, cut": () => new Response('{"config_version": 10000, "config": "[Interface]\\n'),
};

tunnelTest(
  "an answer that is an error, empty or cut → the tunnel stays; later it is applied",
  async () => {
    await using mesh = await Mesh.create();
    const alice = await mesh.join("alice");
    const others: ExampleAgent[] = [];
    for (const answer of Object.keys(UNUSABLE_ANSWERS)) {
      const member = await mesh.join(`gets${answer.replaceAll(/\W+/g, "-")}`);
      await putRule({ from: alice, to: member, ...TCP_443 });
      others.push(await ExampleAgent.start(member, { mesh }));
    }
    await bringUp(alice);

    await Promise.all(
      Object.entries(UNUSABLE_ANSWERS).map(async ([what, answer], index) => {
        const example = others[index];
        assert.ok(example);
        const { host, interfaceName, ipv4 } = example.member;
        await untilPingAnswered(alice.host, { address: ipv4 });
        const file = `${host.directory}/${interfaceName}.conf`;
        const before = await Deno.readTextFile(file);

        example.door.failWith(what.split(":")[0] ?? "", answer);
        await putRule({ from: alice, to: example.member, ...TCP_80 });
        await eventually(`an agent got ${what} and tried again`, {
          withinSeconds: 30,
          condition: () => Promise.resolve(example.door.failuresGiven > 1),
        });
        assert.equal(await answersPing(alice.host, ipv4), true, what);
        assert.equal(await Deno.readTextFile(file), before, what);

        example.door.recover();
        await example.untilApplied();
        assert.notEqual(await Deno.readTextFile(file), before, what);
      }),
    );
  },
);

tunnelTest(
  "/peer/remove by the operator → registered again, without a peer or an open port",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    await succeed("/agent-mesh/peer/remove", {
      as: "operator",
      body: { agent_id: alice.agent.id },
    });
    for (const member of [alice, bob]) {
      await eventually(`${member.agent.id} has no peer`, {
        withinSeconds: 20,
        condition: async () => await peersOf(member) === "",
      });
    }
    assert.equal(await answersPing(alice.host, bob.ipv4), false);
  },
);

tunnelTest("the agent key is in no command line and in no line of the agent's log", async () => {
  await using mesh = await Mesh.create();
  const { alice } = await joinWithAgents(mesh);
  const secret = alice.agent.key.slice(0, 12);
  // A request that hangs can be looked at.
  await alice.host.run(["nft", "-f", "-"], {
    input: `table inet silence {
      chain output { type filter hook output priority filter; oifname "lo" drop; }
    }`,
  });
  const script = 'for pid in $(ip netns pids "$0"); do cat /proc/$pid/cmdline || :; done 2>&1';
  await eventually("curl is seen in a list of processes", {
    withinSeconds: 30,
    condition: async () => {
      const commandLines = await alice.host.run(["sh", "-c", script, alice.host.namespace]);
      assert.ok(!commandLines.includes(secret));
      return commandLines.includes("curl\0--silent");
    },
  });
  assert.ok(!(await alice.example.readLog()).includes(secret));
});

/** Nothing while the interface is being replaced. */
async function ownPublicKey({ host, interfaceName }: Member): Promise<string> {
  return (await host.runAnyhow(["wg", "show", interfaceName, "public-key"])).output;
}

async function peersOf({ host, interfaceName }: Member): Promise<string> {
  return (await host.run(["wg", "show", interfaceName, "peers"])).trim();
}
