import assert from "node:assert/strict";
import { type Agent, assertError } from "../client.ts";
import {
  agree,
  configOf,
  configVersionOf,
  heartbeat,
  join,
  meshTest,
  netmapOf,
  newPubkey,
  putRule,
  removePeer,
  revokeRule,
  rotate,
  ruleBetween,
  tryJoin,
} from "../mesh_cast.ts";

meshTest(
  "changes that leave an agent's rendered configuration alone → its config_version stays",
  async ({ alice, bob, carol }) => {
    const { pubkey } = await join(alice, { endpoint: "203.0.113.7:51820" });
    for (const agent of [bob, carol]) await join(agent);
    await agree(ruleBetween(alice, bob));
    await agree(ruleBetween(bob, carol));
    const { risesBy } = await watchVersions(alice, bob, carol);

    await heartbeat(alice);
    assert.deepEqual(await risesBy(), [0, 0, 0], "a heartbeat");
    await configOf(alice);
    assert.deepEqual(await risesBy(), [0, 0, 0], "a pair's first PSK");
    await putRule(carol, ruleBetween(carol, alice));
    assert.deepEqual(await risesBy(), [0, 0, 0], "a request");
    await revokeRule(alice, ruleBetween(carol, alice));
    assert.deepEqual(await risesBy(), [0, 0, 0], "a request that is revoked");
    await agree(ruleBetween(bob, carol, { port: 22 }));
    assert.deepEqual(await risesBy(), [0, 0, 1], "a second rule, for the side that it leads to");
    await revokeRule(bob, ruleBetween(bob, carol, { port: 22 }));
    assert.deepEqual(await risesBy(), [0, 0, 1], "one of two rules, revoked");
    await agree(ruleBetween(bob, carol));
    assert.deepEqual(await risesBy(), [0, 0, 0], "a rule that is active already");
    await join(alice, { pubkey, endpoints: ["203.0.113.7:51820", "203.0.113.7:51820"] });
    assert.deepEqual(await risesBy(), [0, 0, 0], "the same endpoint, in a list");
    await join(alice, { pubkey, endpoint: "203.0.113.7:51820", listen_port: 51820 });
    assert.deepEqual(await risesBy(), [0, 0, 0], "a listen_port equal to the endpoint's port");
    await agree({ ...ruleBetween(alice, bob), to_agent: "nobody-has-this" });
    assert.deepEqual(await risesBy(), [0, 0, 0], "a rule towards an agent without a peer");
    await revokeRule(alice, { ...ruleBetween(alice, bob), to_agent: "nobody-has-this" });
    const bobsPubkey = (await netmapOf(bob)).peers.find(({ self }) => self)?.pubkey;
    assertError(await tryJoin(alice, { pubkey: bobsPubkey }), 409, "pubkey_in_use");
    assert.deepEqual(await risesBy(), [0, 0, 0], "a registration that is refused");
  },
);

meshTest(
  "changes to an agent's rendered configuration → its config_version rises, nobody else's",
  async ({ alice, bob, carol }) => {
    const pubkey = newPubkey();
    for (const agent of [alice, bob, carol]) await join(agent);
    await join(alice, { pubkey });
    const { risesBy } = await watchVersions(alice, bob, carol);

    await putRule(alice, ruleBetween(alice, bob));
    await putRule(bob, ruleBetween(alice, bob));
    assert.deepEqual(await risesBy(), [1, 1, 0], "the first rule between two");
    await join(alice, { pubkey, endpoint: "203.0.113.7:51820" });
    assert.deepEqual(
      await risesBy(),
      [1, 1, 0],
      "an endpoint, which also sets the agent's ListenPort",
    );
    await join(alice, { pubkey, endpoint: "203.0.113.8:51820" });
    assert.deepEqual(await risesBy(), [0, 1, 0], "another endpoint with the same port");
    const endpoints = ["203.0.113.8:51820", "[2001:db8::8]:51820"];
    await join(alice, { pubkey, endpoints });
    assert.deepEqual(await risesBy(), [0, 1, 0], "a further endpoint");
    await join(alice, { pubkey, endpoints: endpoints.slice(0, 1) });
    assert.deepEqual(await risesBy(), [0, 1, 0], "one endpoint less");
    await join(alice, { pubkey, endpoint: "203.0.113.8:51820", listen_port: 7 });
    assert.deepEqual(await risesBy(), [1, 0, 0], "the agent's listen_port");
    const elsewhere = { endpoint: "203.0.113.8:51820", listen_port: 7 };
    await join(alice, { pubkey: newPubkey(), ...elsewhere });
    assert.deepEqual(await risesBy(), [0, 1, 0], "another pubkey before the first PSK");
    await configOf(bob);
    await join(alice, { pubkey: newPubkey(), ...elsewhere });
    assert.deepEqual(await risesBy(), [1, 1, 0], "another pubkey, and so another PSK");
    await configOf(bob);
    await rotate(bob, alice, bob);
    assert.deepEqual(await risesBy(), [1, 1, 0], "a rotation");
    await rotate(bob, alice, bob);
    assert.deepEqual(await risesBy(), [0, 0, 0], "a rotation of a PSK that is still to be made");
    await agree(ruleBetween(bob, alice));
    assert.deepEqual(await risesBy(), [1, 0, 0], "a rule in the other direction");
    await revokeRule(bob, ruleBetween(alice, bob));
    assert.deepEqual(await risesBy(), [0, 1, 0], "one of two rules, revoked");
    await revokeRule(bob, ruleBetween(bob, alice));
    assert.deepEqual(await risesBy(), [1, 1, 0], "the last rule, revoked");
    await agree(ruleBetween(carol, bob));
    assert.deepEqual(await risesBy(), [0, 1, 1], "the first rule with another agent");
    await removePeer(carol, carol.id);
    await join(carol);
    assert.deepEqual(await risesBy(), [0, 1, 1], "a peer that was removed and joined again");
  },
);

/** Watches config_versions. `risesBy` returns how much each rose since its last call. */
async function watchVersions(...agents: Agent[]) {
  const read = () => Promise.all(agents.map(configVersionOf));
  let last = await read();
  return {
    async risesBy(): Promise<number[]> {
      const before = last;
      last = await read();
      return last.map((version, index) => version - before[index]!);
    },
  };
}
