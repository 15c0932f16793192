/** `mesh up` as somebody uses it: its status, its end, its routes, and networks that overlap. */
import assert from "node:assert/strict";
import { createAgent, succeed } from "../../conformance/client.ts";
import { eventually } from "../../wireguard/hosts/run_program.ts";
import {
  firstTwoNumbers,
  hasInterface,
  type Member,
  Mesh,
  putRule,
  TCP_443,
} from "../../wireguard/hosts/mesh_of_hosts.ts";
import { answersPing, untilPingAnswered } from "../../wireguard/hosts/probes.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { SERVICE_ORIGIN, ServiceDoor } from "../../wireguard/hosts/service_door.ts";
import { agentSettings, HOSTS_BEFORE } from "../hosts/settings.ts";
import { PROGRAM } from "../hosts/command_line.ts";
import { agentfiles, placeOf, startUp, untilSaid } from "../hosts/typed.ts";

tunnelTest(
  "two hosts that have nothing yet: agentfiles login, agentfiles mesh up → they reach each other; status, down",
  async () => {
    await using mesh = await Mesh.create();
    const agents = [await createAgent("alpha"), await createAgent("beta")] as const;
    const members = [];
    for (const [index, agent] of agents.entries()) {
      const host = await mesh.internet.addHost(agent.id.slice(0, 5));
      mesh.attach(await ServiceDoor.open(host));
      members.push({ agent, host, interfaceName: `${mesh.internet.id}-${index}` });
    }
    const [alpha, beta] = members as [typeof members[0], typeof members[0]];
    const settings = { ENDPOINT: "auto:51820" };
    for (const member of members) {
      const env = ["env", `HOME=${member.host.directory}`, "NO_COLOR=1"];
      const login = [...env, ...PROGRAM, "login", "--url", SERVICE_ORIGIN];
      const { code, errors } = await member.host.runAnyhow(login, {
        input: `${member.agent.key}\n`,
      });
      assert.equal(code, 0, errors);
      await startUp(member, { environment: settings });
      await untilSaid(member, "is applied");
    }
    const body = { from_agent: alpha.agent.id, to_agent: beta.agent.id, port: 443, proto: "tcp" };
    await succeed("/agent-mesh/acl/put", { as: "operator", body });
    const { peers } = await succeed<{ peers: { self: boolean; addresses: string[] }[] }>(
      "/agent-mesh/netmap",
      { as: beta.agent },
    );
    const [ipv4 = ""] = peers.find(({ self }) => self)!.addresses;
    await untilPingAnswered(alpha.host, { address: ipv4 });
    for (const member of members) {
      await succeed("/agent-mesh/peer/remove", {
        as: "operator",
        body: { agent_id: member.agent.id },
      });
    }
  },
);

tunnelTest(
  "--status → what runs, without a secret; only routes to single addresses; mesh down → nothing is left",
  async () => {
    await using mesh = await Mesh.create();
    const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
    await putRule({ from: alice, to: bob, ...TCP_443 });
    for (const member of [alice, bob]) {
      mesh.attach(await ServiceDoor.open(member.host));
      await startUp(member);
      await untilSaid(member, "is applied");
    }
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    const place = placeOf(alice);
    const hosts = () => Deno.readTextFile(`${alice.host.directory}/hosts`);
    assert.ok((await hosts()).includes(bob.ipv4));
    await eventually("the status has the peer", {
      condition: async () => {
        const { output } = await agentfiles(alice, ["mesh", "up", "--status", "--json", ...place]);
        const status = JSON.parse(output);
        assert.doesNotMatch(output, /[A-Za-z0-9+/]{42}/);
        assert.deepEqual([status.up, status.addresses], [true, [alice.ipv4, alice.ipv6]]);
        const [peer] = status.peers;
        return peer?.agent_id === bob.agent.id && peer.via === "direct";
      },
    });
    const routes = ["ip", "route", "show", "dev", alice.interfaceName];
    assert.equal((await alice.host.run(routes)).trim(), `${bob.ipv4} scope link`);

    const said = await agentfiles(alice, ["mesh", "down", ...place]);
    assert.deepEqual([said.code, said.output], [0, `${alice.interfaceName} is down\n`]);
    assert.equal(await hasInterface(alice), false);
    assert.equal(await alice.host.run(["nft", "list", "tables"]), "");
    assert.equal(await hosts(), HOSTS_BEFORE);
    const again = await agentfiles(alice, ["mesh", "down", ...place]);
    assert.equal(again.output, `${alice.interfaceName} was not up\n`);
    const status = await agentfiles(alice, ["mesh", "up", "--status", ...place]);
    assert.deepEqual([status.code, status.errors.includes("no agent runs")], [1, true]);
  },
);

tunnelTest(
  "SIGKILL, then mesh down → the tunnel, the firewall and the names are gone",
  async () => {
    await using mesh = await Mesh.create();
    const alice = await mesh.join("alice");
    mesh.attach(await ServiceDoor.open(alice.host));
    const child = await startUp(alice);
    await untilSaid(alice, "is applied");
    child.kill("SIGKILL");
    await child.status;
    assert.equal(await hasInterface(alice), true);
    const { output } = await agentfiles(alice, ["mesh", "down", ...placeOf(alice)]);
    assert.equal(output, `${alice.interfaceName} is down\n`);
    assert.equal(await hasInterface(alice), false);
    assert.equal(await alice.host.run(["nft", "list", "tables"]), "");
  },
);

tunnelTest(
  "another network of this host has addresses of the mesh → refused by name in log and status, nothing is made; gone → up",
  async () => {
    await using mesh = await Mesh.create();
    const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
    await putRule({ from: alice, to: bob, ...TCP_443 });
    for (const { host } of [alice, bob]) mesh.attach(await ServiceDoor.open(host));
    await agentSettings(alice);
    const network = firstTwoNumbers(bob.ipv4);
    await bob.host.run(["ip", "link", "add", "docker0", "type", "bridge"]);
    await bob.host.run(["ip", "address", "add", `${network}.0.1/16`, "dev", "docker0"]);
    await bob.host.run(["ip", "link", "set", "docker0", "up"]);
    const routes = await bob.host.run(["ip", "route"]);
    await startUp(bob);
    const sentence = `the network ${network}.0.0/16 of this mesh overlaps ${network}.0.0/16, ` +
      "to which this host has a route by docker0";
    await untilSaid(bob, sentence);
    const { output } = await agentfiles(bob, ["mesh", "up", "--status", ...placeOf(bob)]);
    assert.ok(output.includes(sentence), output);
    const problemSeen = () => problemOf(bob, alice);
    await eventually("the neighbour sees the problem", {
      condition: async () =>
        JSON.stringify(await problemSeen()) === JSON.stringify(
          { code: "network_taken", network: `${network}.0.0/16` },
        ),
    });
    const probed = await agentfiles(alice, ["mesh", "probe", bob.agent.id, "443"]);
    assert.match(probed.output, new RegExp(`^The host of ${bob.agent.id} has no tunnel, because`));
    const status = await agentfiles(alice, ["mesh", "status"]);
    assert.match(status.output, new RegExp(`does not work: the host of ${bob.agent.id} has no`));
    assert.equal(await hasInterface(bob), false);
    assert.equal(await bob.host.run(["ip", "route"]), routes);
    assert.equal(await answersPing(bob.host, alice.ipv4), false);

    await bob.host.run(["ip", "link", "delete", "docker0"]);
    await untilSaid(bob, "is applied");
    assert.equal(await hasInterface(bob), true);
    await eventually("the neighbour sees no problem", {
      condition: async () => await problemSeen() === null,
    });
  },
);

/** What `seenBy` sees of the member's host. */
async function problemOf({ agent }: Member, seenBy: Member): Promise<unknown> {
  const { peers } = await succeed<{ peers: { agent_id: string; problem: unknown }[] }>(
    "/agent-mesh/netmap",
    { as: seenBy.agent },
  );
  return peers.find(({ agent_id }) => agent_id === agent.id)?.problem;
}
