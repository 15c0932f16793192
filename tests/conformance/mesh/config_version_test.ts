import assert from "node:assert/strict";
import { type Agent, post, succeed } from "../client.ts";
import {
  agree,
  configOf,
  join,
  meshTest,
  netmapOf,
  newPubkey,
  putRule,
  revokeRule,
  rotate,
  ruleBetween,
} from "../mesh_cast.ts";

meshTest(
  "what leaves a rendered configuration as it is → its config_version stays",
  async ({ alice, bob, carol }) => {
    const { pubkey } = await join(alice, { endpoint: "203.0.113.7:51820" });
    for (const agent of [bob, carol]) await join(agent);
    await agree(ruleBetween(alice, bob));
    await agree(ruleBetween(bob, carol));
    const { risesBy } = await watch(alice, bob, carol);

    await succeed("/agent-mesh/peer/heartbeat", { as: alice, body: { agent_id: alice.id } });
    assert.deepEqual(await risesBy(), [0, 0, 0], "a heartbeat");
    await configOf(alice);
    assert.deepEqual(await risesBy(), [0, 0, 0], "a pair's first PSK");
    await putRule(carol, ruleBetween(carol, alice));
    assert.deepEqual(await risesBy(), [0, 0, 0], "a request");
    await revokeRule(alice, ruleBetween(carol, alice));
    assert.deepEqual(await risesBy(), [0, 0, 0], "a request that is taken back");
    await agree(ruleBetween(bob, carol, { port: 22 }));
    assert.deepEqual(await risesBy(), [0, 0, 1], "a second rule, for the side that it starts from");
    await revokeRule(bob, ruleBetween(bob, carol, { port: 22 }));
    assert.deepEqual(await risesBy(), [0, 0, 1], "one of two rules, taken back");
    await agree(ruleBetween(bob, carol));
    assert.deepEqual(await risesBy(), [0, 0, 0], "a rule that is there already");
    await join(alice, { pubkey, endpoint: "203.0.113.7:51820", listen_port: 51820 });
    assert.deepEqual(await risesBy(), [0, 0, 0], "the port that it listens on anyway");
    await agree({ ...ruleBetween(alice, bob), to_agent: "nobody-has-this" });
    assert.deepEqual(await risesBy(), [0, 0, 0], "a rule towards an agent without a peer");
    await revokeRule(alice, { ...ruleBetween(alice, bob), to_agent: "nobody-has-this" });
    await post("/agent-mesh/peer/register", {
      as: alice,
      body: { agent_id: alice.id, pubkey: (await netmapOf(bob)).peers.find(isSelf)?.pubkey },
    });
    assert.deepEqual(await risesBy(), [0, 0, 0], "a registration that is refused");
  },
);

meshTest(
  "what changes a rendered configuration → its config_version rises, nobody else's",
  async ({ alice, bob, carol }) => {
    const pubkey = newPubkey();
    for (const agent of [alice, bob, carol]) await join(agent);
    await join(alice, { pubkey });
    const { risesBy } = await watch(alice, bob, carol);

    await putRule(alice, ruleBetween(alice, bob));
    await putRule(bob, ruleBetween(alice, bob));
    assert.deepEqual(await risesBy(), [1, 1, 0], "the first rule between two");
    await join(alice, { pubkey, endpoint: "203.0.113.7:51820" });
    assert.deepEqual(await risesBy(), [1, 1, 0], "an endpoint, and the port with it");
    await join(alice, { pubkey, endpoint: "203.0.113.8:51820" });
    assert.deepEqual(await risesBy(), [0, 1, 0], "an endpoint on the same port");
    await join(alice, { pubkey, endpoint: "203.0.113.8:51820", listen_port: 7 });
    assert.deepEqual(await risesBy(), [1, 0, 0], "the own listen_port");
    const elsewhere = { endpoint: "203.0.113.8:51820", listen_port: 7 };
    await join(alice, { pubkey: newPubkey(), ...elsewhere });
    assert.deepEqual(await risesBy(), [0, 1, 0], "a pubkey while there is no PSK");
    await configOf(bob);
    await join(alice, { pubkey: newPubkey(), ...elsewhere });
    assert.deepEqual(await risesBy(), [1, 1, 0], "a pubkey, and the PSK with it");
    await configOf(bob);
    await rotate(bob, alice, bob);
    assert.deepEqual(await risesBy(), [1, 1, 0], "a rotation");
    await rotate(bob, alice, bob);
    assert.deepEqual(await risesBy(), [0, 0, 0], "a rotation while there is no PSK");
    await agree(ruleBetween(bob, alice));
    assert.deepEqual(await risesBy(), [1, 0, 0], "a rule in the other direction");
    await revokeRule(bob, ruleBetween(alice, bob));
    assert.deepEqual(await risesBy(), [0, 1, 0], "one of two rules, taken back");
    await revokeRule(bob, ruleBetween(bob, alice));
    assert.deepEqual(await risesBy(), [1, 1, 0], "the last rule, taken back");
    await agree(ruleBetween(carol, bob));
    assert.deepEqual(await risesBy(), [0, 1, 1]);
    await succeed("/agent-mesh/peer/remove", { as: carol, body: { agent_id: carol.id } });
    await join(carol);
    assert.deepEqual(
      await risesBy(),
      [0, 1, 1],
      "a peer that is removed, and comes back without rules",
    );
  },
);

/** Watches the versions of some agents; `risesBy` tells by how much each has risen since it was last asked. */
async function watch(...agents: Agent[]) {
  const read = () =>
    Promise.all(agents.map(async (agent) => (await netmapOf(agent)).config_version));
  let last = await read();
  return {
    async risesBy(): Promise<number[]> {
      const before = last;
      last = await read();
      return last.map((version, index) => version - before[index]!);
    },
  };
}

function isSelf({ self }: { self: boolean }): boolean {
  return self;
}
