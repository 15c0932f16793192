/** The names of the peers in the host's hosts file. */
import assert from "node:assert/strict";
import { succeed } from "../../conformance/client.ts";
import { eventually } from "../../wireguard/hosts/run_program.ts";
import {
  firstTwoNumbers,
  type Member,
  Mesh,
  putRule,
  revokeRule,
  TCP_80,
} from "../../wireguard/hosts/mesh_of_hosts.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { HOSTS_BEFORE } from "../hosts/settings.ts";
import { joinWithAgents } from "../hosts/host_agent.ts";

tunnelTest(
  "peers appear and vanish → their names are in a block of the hosts file; SIGTERM → the file is as before",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    const file = `${alice.host.directory}/hosts`;
    // Until then, the agent may still replace the file.
    await untilNamed(file, alice, [bob]);
    await Deno.chmod(file, 0o640);
    await Deno.chown(file, 0, 65_534);
    const carol = await mesh.join("Carol.7");
    await putRule({ from: alice, to: carol, ...TCP_80 });
    await untilNamed(file, alice, [bob, carol]);
    await revokeRule({ from: alice, to: carol, ...TCP_80 });
    await untilNamed(file, alice, [bob]);

    const { mode, uid, gid } = await Deno.stat(file);
    assert.deepEqual([mode! & 0o777, uid, gid], [0o640, 0, 65_534]);
    assert.equal(await alice.meshAgent.stop("SIGTERM"), 0);
    assert.equal(await Deno.readTextFile(file), HOSTS_BEFORE);
    const left = [...Deno.readDirSync(alice.host.directory)].map(({ name }) => name);
    assert.ok(!left.includes("hosts.mesh-agent"));
  },
);

tunnelTest(
  "a hosts file that is mounted, as in a container → written in place, and as before at the end",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    await alice.meshAgent.stop("SIGTERM");
    // `ip netns exec` mounts this file at /etc/hosts.
    const file = `/etc/netns/${alice.host.namespace}/hosts`;
    await Deno.writeTextFile(file, HOSTS_BEFORE);
    const { ino } = await Deno.stat(file);
    alice.meshAgent.restart({ environment: { HOSTS_FILE: "/etc/hosts" } });
    await untilNamed(file, alice, [bob]);
    const name = await nameOf(bob, alice);
    assert.match(await alice.host.run(["getent", "ahostsv4", name]), new RegExp(`^${bob.ipv4} `));
    assert.equal(await alice.meshAgent.stop("SIGTERM"), 0);
    assert.equal(await Deno.readTextFile(file), HOSTS_BEFORE);
    assert.equal((await Deno.stat(file)).ino, ino);
  },
);

tunnelTest(
  "SIGKILL, then lines by hand around and in the block, and a name of a peer → a restart keeps each line",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    const file = `${alice.host.directory}/hosts`;
    await untilNamed(file, alice, [bob]);
    await alice.meshAgent.stop("SIGKILL");
    const name = await nameOf(bob, alice);
    const block = (await Deno.readTextFile(file)).slice(HOSTS_BEFORE.length);
    const [begin, , ...rest] = block.split("\n");
    await Deno.writeTextFile(
      file,
      `${HOSTS_BEFORE}${begin}\n192.0.2.8 scanner # by hand, too\n${rest.join("\n")}` +
        `192.0.2.9\t${name.toUpperCase()}\n${begin}\n${
          firstTwoNumbers(bob.ipv4)
        }.0.99 gone\n192.0.2.10 last of all\n`,
    );
    const kept =
      `${HOSTS_BEFORE}192.0.2.8 scanner # by hand, too\n192.0.2.9\t${name.toUpperCase()}\n` +
      "192.0.2.10 last of all\n" + block.replaceAll(`.mesh.internal ${name}\n`, ".mesh.internal\n");
    alice.meshAgent.restart();
    await eventually(
      "each line by hand is there, and the peer's name only with its domain: the other is taken",
      {
        condition: async () => await Deno.readTextFile(file) === kept,
      },
    );

    await Deno.writeTextFile(file, HOSTS_BEFORE);
    await untilNamed(file, alice, [bob]);
  },
);

tunnelTest(
  "no hosts file, and one that cannot be changed → said once; the tunnel works",
  async () => {
    await using mesh = await Mesh.create();
    const { alice } = await joinWithAgents(mesh);
    const file = `${alice.host.directory}/hosts`;
    for (const spoil of [() => Deno.remove(file), () => Deno.writeTextFile(file, "a\0b\n")]) {
      await alice.meshAgent.stop("SIGTERM");
      await spoil();
      const before = await Deno.readFile(file).catch(() => null);
      const said = (await alice.meshAgent.readLog()).split("cannot be written to").length;
      const heartbeats = alice.meshAgent.door.countOf("/wait");
      alice.meshAgent.restart();
      await eventually("the agent has said so, and has gone three rounds", {
        condition: async () =>
          alice.meshAgent.door.countOf("/wait") > heartbeats + 3 &&
          (await alice.meshAgent.readLog()).split("cannot be written to").length === said + 1,
      });
      assert.deepEqual(await Deno.readFile(file).catch(() => null), before);
    }
  },
);

/** The name that the service shows for `peer` to one of its neighbours. */
async function nameOf(peer: Member, neighbour: Member): Promise<string> {
  const { peers } = await succeed<{ peers: { agent_id: string; name: string }[] }>(
    "/agent-mesh/netmap",
    { as: neighbour.agent },
  );
  return peers.find(({ agent_id }) => agent_id === peer.agent.id)!.name;
}

/** Waits until the file has its original lines, and the addresses and names of these peers only. */
async function untilNamed(file: string, self: Member, peers: readonly Member[]): Promise<void> {
  const named = peers.toSorted((one, other) => one.agent.id < other.agent.id ? -1 : 1);
  await eventually(`the names of ${named.map(({ agent }) => agent.id)}, and no others`, {
    condition: async () => {
      const text = await Deno.readTextFile(file);
      const names = await Promise.all(named.map((peer) => nameOf(peer, self).catch(() => "?")));
      const lines = named.flatMap(({ ipv4, ipv6 }, index) =>
        [ipv4, ipv6].map((address) => `${address} ${names[index]}.mesh.internal ${names[index]}`)
      );
      const marker = `of mesh-agent ${self.interfaceName}`;
      const block = ["# begin " + marker, ...lines, "# end " + marker, ""].join("\n");
      return text === HOSTS_BEFORE + block;
    },
  });
}
