/** `mesh up --rotate-key`: another private key for the host. */
import assert from "node:assert/strict";
import { succeed } from "../../conformance/client.ts";
import { eventually, run } from "../../wireguard/hosts/run_program.ts";
import { type Member, Mesh } from "../../wireguard/hosts/mesh_of_hosts.ts";
import { untilPingAnswered } from "../../wireguard/hosts/probes.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { joinWithAgents } from "../hosts/host_agent.ts";

tunnelTest(
  "--rotate-key while the agent runs → the service has another public key, the host its private key; its peer reaches it",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    const before = await keyOf(alice);
    const { code, log } = await alice.meshAgent.runSecond({}, ["--rotate-key"]);
    assert.equal(code, 0);
    const publicKey = await keyOf(alice);
    assert.notEqual(publicKey, before);
    assert.match(log, new RegExp(`the public key is ${publicKey.replaceAll(/[+]/g, "\\+")}\n`));
    await alice.meshAgent.untilRunsWith(publicKey);
    await untilPingAnswered(bob.host, { address: alice.ipv4 });
    assert.equal(await registeredKeyOf(alice), publicKey);
    const { mode } = await Deno.stat(keyFile(alice));
    assert.equal(mode! & 0o777, 0o600);
    assert.equal(await exists(`${keyFile(alice)}.new`), false);
  },
);

tunnelTest(
  "--rotate-key without an agent → registered at once; an agent that starts runs with the key",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    await alice.meshAgent.stop("SIGTERM");
    const before = await keyOf(alice);
    assert.equal((await alice.meshAgent.runSecond({}, ["--rotate-key"])).code, 0);
    const publicKey = await keyOf(alice);
    assert.notEqual(publicKey, before);
    assert.equal(await registeredKeyOf(alice), publicKey);
    assert.deepEqual(alice.meshAgent.hiddenFiles(), []);
    alice.meshAgent.restart();
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
  },
);

tunnelTest(
  "killed after the service has registered the next key → a restart goes on with that key",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    await alice.meshAgent.stop("SIGTERM");
    const before = await keyOf(alice);
    // The service registers the key, but the agent was killed before it got the answer.
    const next = await run(["wg", "genkey"]);
    const publicKey = (await run(["wg", "pubkey"], { input: next })).trim();
    await Deno.writeTextFile(`${keyFile(alice)}.new`, next, { mode: 0o600 });
    await succeed("/agent-mesh/peer/register", {
      as: alice.agent,
      body: { agent_id: alice.agent.id, pubkey: publicKey },
    });
    assert.equal(await keyOf(alice), before);

    alice.meshAgent.restart();
    await alice.meshAgent.untilRunsWith(publicKey);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    assert.equal(await keyOf(alice), publicKey);
    assert.equal(await registeredKeyOf(alice), publicKey);
  },
);

tunnelTest(
  "--rotate-key while the service is away → the tunnel stays with its key, the next key waits; back → it is registered",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob } = await joinWithAgents(mesh);
    const before = await keyOf(alice);
    const { door } = alice.meshAgent;
    door.failWith("/peer/register", () => new Response("", { status: 503 }));
    const rotating = alice.meshAgent.runSecond({}, ["--rotate-key"]);
    await eventually("the agent has tried", {
      condition: () => Promise.resolve(door.failuresGiven > 0),
    });
    assert.equal(await keyOf(alice), before);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    const waiting = await Deno.readTextFile(`${keyFile(alice)}.new`);
    door.recover();
    assert.equal((await rotating).code, 0);
    assert.equal(await Deno.readTextFile(keyFile(alice)), waiting);
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
  },
);

tunnelTest("a next key that is none → removed; the agent goes on with its key", async () => {
  await using mesh = await Mesh.create();
  const { alice, bob } = await joinWithAgents(mesh);
  const before = await keyOf(alice);
  await Deno.writeTextFile(`${keyFile(alice)}.new`, "no key\n");
  await eventually("it is removed", {
    condition: async () => !await exists(`${keyFile(alice)}.new`),
  });
  assert.match(await alice.meshAgent.readLog(), /\.key\.new holds no key; removing it/);
  assert.equal(await keyOf(alice), before);
  await untilPingAnswered(alice.host, { address: bob.ipv4 });
});

function keyFile({ host, interfaceName }: Member): string {
  return `${host.directory}/${interfaceName}.key`;
}

/** The public key of this host's private key. */
async function keyOf(member: Member): Promise<string> {
  return (await run(["wg", "pubkey"], { input: await Deno.readTextFile(keyFile(member)) })).trim();
}

async function registeredKeyOf({ agent }: Member): Promise<string> {
  const { peers } = await succeed<{ peers: { self: boolean; pubkey: string }[] }>(
    "/agent-mesh/netmap",
    { as: agent },
  );
  return peers.find(({ self }) => self)!.pubkey;
}

function exists(path: string): Promise<boolean> {
  return Deno.stat(path).then(() => true, () => false);
}
