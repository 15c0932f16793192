import assert from "node:assert/strict";
import { succeed } from "../../conformance/client.ts";
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
import { answersPing, listen, reaches, untilPingAnswered } from "../../wireguard/hosts/probes.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { ServiceDoor } from "../../wireguard/hosts/service_door.ts";
import { agentSettings } from "../hosts/settings.ts";
import { endlessAnswer, largestFile, LONGEST_ANSWER_BYTES } from "../trust/endless_answer.ts";
import { printSecondsUntil, untilWaiting } from "../hosts/host_agent.ts";
import { EXAMPLES, wgQuickFile } from "./wg_quick_file.ts";

const SCRIPT = `${EXAMPLES}/minimal-mesh-agent.sh`;
const LONGEST_LINES = 60;

tunnelTest(
  "the minimal agent on two hosts → up; a new rule is reached, a revoked one is not; SIGTERM → down",
  async () => {
    await using mesh = await Mesh.create();
    const [alice, bob] = [await mesh.join("alice", { behindNat: true }), await mesh.join("bob")];
    await putRule({ from: alice, to: bob, ...TCP_443 });
    await listen(bob.host, TCP_80);
    const atAlice = await startMinimalAgent(alice, mesh);
    await startMinimalAgent(bob, mesh);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    assert.equal(await reaches(alice.host, { ...TCP_80, address: bob.ipv4 }), false);

    await putRule({ from: alice, to: bob, ...TCP_80 });
    await untilReplaced([alice, bob]);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    assert.equal(await reaches(alice.host, { ...TCP_80, address: bob.ipv4 }), true);

    await revokeRule({ from: alice, to: bob, ...TCP_80 });
    await untilReplaced([alice, bob]);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    assert.equal(await reaches(alice.host, { ...TCP_80, address: bob.ipv4 }), false);

    await revokeRule({ from: alice, to: bob, ...TCP_443 });
    await untilReplaced([alice, bob]);
    await eventually("alice's tunnel is up again", {
      condition: () => hasInterface(alice),
    });
    assert.equal(await answersPing(alice.host, bob.ipv4), false);

    atAlice.agent.kill("SIGTERM");
    const { code } = await atAlice.agent.status;
    const left = {
      interface: await hasInterface(alice),
      tables: await alice.host.run(["nft", "list", "tables"]),
    };
    assert.deepEqual(
      { code, ...left },
      { code: 0, interface: false, tables: "" },
      await alice.host.readLog("agent.log"),
    );
  },
);

tunnelTest(
  "the minimal agent while the service answers 503 → the tunnel stays, later changes are applied",
  async () => {
    await using mesh = await Mesh.create();
    const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
    await putRule({ from: alice, to: bob, ...TCP_443 });
    await startMinimalAgent(alice, mesh);
    const { door } = await startMinimalAgent(bob, mesh);
    await untilReplaced([alice, bob]);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });

    for (const path of ["/peer/heartbeat", "/wg_config"]) {
      const given = door.failuresGiven;
      door.failWith(path, () => new Response("", { status: 503 }));
      const interfaceBefore = await interfaceIndex(bob);
      if (path === "/peer/heartbeat") {
        await eventually("the heartbeat that was under way is over", {
          condition: () => Promise.resolve(door.failuresGiven > given),
        });
      }
      await putRule({ from: alice, to: bob, proto: "tcp", port: given + 1000 });
      await eventually(`bob has asked twice and got no answer from ${path}`, {
        condition: () => Promise.resolve(door.failuresGiven > given + 1),
      });
      await untilPingAnswered(alice.host, { address: bob.ipv4 });
      assert.equal(await interfaceIndex(bob), interfaceBefore);
      door.recover();
      await untilReplaced([alice, bob]);
      await untilPingAnswered(alice.host, { address: bob.ipv4 });
    }
  },
);

tunnelTest(
  "the minimal agent that waits with its heartbeat → a change is applied; SIGTERM → it ends, unanswered",
  async () => {
    await using mesh = await Mesh.create();
    const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
    const { agent, door } = await startMinimalAgent(bob, mesh, { pollSeconds: 30 });
    await untilReplaced([bob]);
    await untilWaiting(bob, door);
    const before = await configurationOf(bob);
    await putRule({ from: alice, to: bob, ...TCP_80 });
    await printSecondsUntil("a rule → the minimal agent's new configuration", async () => {
      return await configurationOf(bob) !== before;
    });
    await untilReplaced([bob]);

    await untilWaiting(bob, door);
    assert.ok(door.waits.every((seconds) => seconds === 29));
    const { waitsAnswered } = door;
    agent.kill("SIGTERM");
    assert.equal((await agent.status).code, 0);
    assert.equal(door.waitsAnswered, waitsAnswered);
    assert.doesNotMatch(await bob.host.processes(), /^(curl|sleep) /m);
    assert.equal(await hasInterface(bob), false);
  },
);

for (const how of ["ignored", "refused"] as const) {
  tunnelTest(
    `the minimal agent with a service by which wait_seconds is ${how} → asks every POLL_SECONDS, applies changes`,
    async () => {
      await using mesh = await Mesh.create();
      const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
      const { door } = await startMinimalAgent(bob, mesh, { pollSeconds: 3 });
      door.stopWaits(how);
      await untilReplaced([bob]);
      await putRule({ from: alice, to: bob, ...TCP_80 });
      await untilReplaced([bob]);
      await eventually("the agent pauses", {
        condition: async () => {
          const processes = await bob.host.processes();
          return /^sleep 3 $/m.test(processes) && !/^curl /m.test(processes);
        },
      });
    },
  );
}

for (const path of ["/peer/register", "/peer/heartbeat", "/wg_config"]) {
  const then = path === "/peer/register" ? "it ends" : "later changes are applied";
  tunnelTest(
    `the minimal agent, ${path}: 200 and an answer without an end → keeps 16 MiB of it at most; ${then}`,
    async () => {
      await using mesh = await Mesh.create();
      const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
      await putRule({ from: alice, to: bob, ...TCP_443 });
      const { agent, door } = await startMinimalAgent(bob, mesh, {
        prepare: (door) => door.failWith(path, () => endlessAnswer(200)),
      });
      await eventually("the agent says that it stopped reading", {
        // curl exits with 63 if it knew the length, or if its version counts the received bytes.
        condition: async () => /curl: \((23|63)\)/.test(await bob.host.readLog("agent.log")),
      });
      assert.ok(await largestFile(bob.host) <= LONGEST_ANSWER_BYTES);
      if (path === "/peer/register") {
        assert.notEqual((await agent.status).code, 0);
      } else {
        door.recover();
        await untilReplaced([bob]);
      }
    },
  );
}

for (const url of ["http://198.51.100.9/f", "http://127.0.0.1@example.com/f", "ftp://x/"]) {
  tunnelTest(`the minimal agent with MESH_URL=${url} → refused, before any request`, async () => {
    await using mesh = await Mesh.create();
    const bob = await mesh.join("bob");
    const { agent, door } = await startMinimalAgent(bob, mesh, { url });
    assert.equal((await agent.status).code, 1);
    assert.match(await bob.host.readLog("agent.log"), /^MESH_URL must be https\n$/);
    assert.deepEqual(door.paths, []);
  });
}

Deno.test(`minimal-mesh-agent.sh → at most ${LONGEST_LINES} lines`, async () => {
  const lines = (await Deno.readTextFile(SCRIPT)).trimEnd().split("\n").length;
  assert.ok(lines <= LONGEST_LINES, `${lines} lines`);
});

/** Starts the agent as its header describes, with the member's interface. */
async function startMinimalAgent(
  member: Member,
  mesh: Mesh,
  { pollSeconds = 1, prepare = () => {}, url }: {
    pollSeconds?: number;
    prepare?: (door: ServiceDoor) => void;
    url?: string;
  } = {},
): Promise<{ agent: Deno.ChildProcess; door: ServiceDoor }> {
  const door = mesh.attach(await ServiceDoor.open(member.host));
  prepare(door);
  const agent = member.host.start([SCRIPT], {
    logName: "agent.log",
    env: {
      ...await agentSettings(member),
      POLL_SECONDS: String(pollSeconds),
      ...(url !== undefined && { MESH_URL: url }),
    },
  });
  return { agent, door };
}

/** Waits until each agent has replaced its configuration with the one that is served now. */
async function untilReplaced(members: readonly Member[]): Promise<void> {
  for (const member of members) {
    const { agent } = member;
    await eventually(`${agent.id} has its newest configuration`, {
      condition: async () => {
        const answer = await succeed("/agent-mesh/wg_config", {
          as: agent,
          body: { format: "json" },
        });
        return await configurationOf(member) === (await wgQuickFile(answer)).output;
      },
    });
  }
}

/** The last configuration that wg-quick got; empty before the first one. */
function configurationOf({ host, interfaceName }: Member): Promise<string> {
  return Deno.readTextFile(`${host.wireguardDirectory}/${interfaceName}.conf`).catch(() => "");
}

/** The index changes with each `wg-quick up`. */
async function interfaceIndex({ host, interfaceName }: Member): Promise<number> {
  const [{ ifindex }] = JSON.parse(await host.run(["ip", "-j", "link", "show", interfaceName]));
  return ifindex;
}
