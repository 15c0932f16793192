import assert from "node:assert/strict";
import { assertError, createAgent, post, succeed } from "../client.ts";
import { agree, join, meshTest, netmapOf, newPubkey, type Peer, removePeer } from "../mesh_cast.ts";

const DNS_LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Registers agents with these ids as the operator. Returns their peers. */
async function registered(ids: readonly string[]): Promise<Peer[]> {
  const peers: Peer[] = [];
  for (const agent_id of ids) {
    peers.push(
      await succeed<Peer>("/agent-mesh/peer/register", {
        as: "operator",
        body: { agent_id, pubkey: newPubkey() },
      }),
    );
  }
  return peers;
}

async function removeAll(ids: readonly string[]): Promise<void> {
  for (const id of ids) await removePeer("operator", id);
}

meshTest("/peer/register and /netmap → the name of each peer", async ({ alice, bob }) => {
  const names = [(await join(alice)).name, (await join(bob)).name];
  await agree({ from_agent: alice.id, to_agent: bob.id, port: 443, proto: "tcp" });
  for (const agent of [alice, bob]) {
    assert.deepEqual((await netmapOf(agent)).peers.map(({ name }) => name), names);
  }
});

Deno.test("identifiers that differ in what a label cannot hold → two names", async () => {
  const suffix = crypto.randomUUID().slice(0, 8);
  const ids = ["A-1", "a-1", "a.1", "a_1", "a--1", "a-1-"].map((id) => suffix + id);
  try {
    const names = (await registered(ids)).map(({ name }) => name);
    assert.equal(new Set(names).size, ids.length, names.join(" "));
    for (const name of names) assert.match(name, DNS_LABEL);
    assert.equal(names[1], `${suffix}a-1`);
    for (const name of names) assert.ok(name.startsWith(`${suffix}a-1`), name);
  } finally {
    await removeAll(ids);
  }
});

Deno.test("a peer that is removed and comes back → the same name", async () => {
  const agent = await createAgent("Comes.Back");
  try {
    const { name } = await join(agent);
    await removePeer(agent, agent.id);
    assertError(await post("/agent-mesh/netmap", { as: agent }), 404, "peer_not_found");
    assert.equal((await join(agent)).name, name);
  } finally {
    await removePeer("operator", agent.id);
  }
});
