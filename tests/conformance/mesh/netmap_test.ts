import assert from "node:assert/strict";
import { assertError, assertInvalid, post, succeed } from "../client.ts";
import {
  agree,
  configOf,
  idsIn,
  join,
  leavesUnchanged,
  meshTest,
  type Netmap,
  netmapOf,
  newPubkey,
  putRule,
  removePeer,
  rotate,
  ruleBetween,
} from "../mesh_cast.ts";

meshTest(
  "/netmap → the agent and the peers that share an active rule with it, nobody else",
  async ({ alice, bob, carol }) => {
    const peers = {
      alice: await join(alice, { endpoint: "203.0.113.7:51820" }),
      bob: await join(bob),
      carol: await join(carol),
    };
    await agree(ruleBetween(alice, bob));
    await agree(ruleBetween(bob, carol));

    assert.deepEqual((await netmapOf(alice)).peers, [
      {
        ...peers.alice,
        self: true,
        psk_version: null,
        config_version_applied: null,
        path: null,
        problem: null,
      },
      {
        ...peers.bob,
        self: false,
        psk_version: null,
        config_version_applied: null,
        path: { reported_by_self: null, reported_by_peer: null },
        problem: null,
      },
    ]);
    assert.deepEqual((await netmapOf(alice)).acls, [ruleBetween(alice, bob)]);
    assert.deepEqual(idsIn(await netmapOf(bob)), [alice.id, bob.id, carol.id]);
    assert.deepEqual((await netmapOf(bob)).acls, [
      ruleBetween(alice, bob),
      ruleBetween(bob, carol),
    ]);
    assert.deepEqual(idsIn(await netmapOf(carol)), [bob.id, carol.id]);
  },
);

meshTest(
  "/netmap with a request → the other side's identifier and nothing else about it",
  async ({ alice, bob }) => {
    const bobs = await join(bob, { endpoint: "203.0.113.77:51820" });
    await join(alice);
    await putRule(alice, ruleBetween(alice, bob));
    const seen = JSON.stringify(await netmapOf(alice)) + (await configOf(alice)).config;
    assert.ok(seen.includes(bob.id));
    for (const hidden of [bobs.pubkey, "203.0.113.77", bobs.registered_at]) {
      assert.ok(!seen.includes(hidden), hidden);
    }
    // Match whole addresses only: bob's address may be a prefix of alice's.
    for (const hidden of bobs.addresses) {
      assert.doesNotMatch(seen, new RegExp(`${hidden.replaceAll(".", "\\.")}(?![0-9a-f])`));
    }
  },
);

meshTest(
  "/netmap of an unchanged state → the same text each time, in byte order of agent_id",
  async ({ alice, bob, carol }) => {
    for (const agent of [carol, alice, bob]) await join(agent);
    for (const other of [carol, bob]) await agree(ruleBetween(other, alice));
    const texts = [];
    for (let call = 0; call < 3; call++) texts.push(JSON.stringify(await netmapOf(alice)));
    assert.equal(new Set(texts).size, 1);
    const map = JSON.parse(texts[0]!) as Netmap;
    assert.deepEqual(idsIn(map), [alice.id, bob.id, carol.id]);
  },
);

meshTest(
  "/netmap of identifiers that a dictionary would order otherwise → in byte order",
  async ({ alice }) => {
    await join(alice);
    const suffix = crypto.randomUUID();
    const ids = ["A-2", "A1", "A:b", "A_1", "a-2", "a.b", "aB", "a_1"].map((id) => id + suffix);
    try {
      for (const agent_id of ids.toReversed()) {
        const pubkey = newPubkey();
        await succeed("/agent-mesh/peer/register", { as: "operator", body: { agent_id, pubkey } });
        await agree({ from_agent: agent_id, to_agent: alice.id, port: 1, proto: "tcp" });
      }
      const map = await netmapOf(alice);
      const expected = ids.toSorted();
      assert.deepEqual(idsIn(map).filter((id) => id !== alice.id), expected);
      assert.deepEqual(map.acls.map(({ from_agent }) => from_agent), expected);
      const { config } = await configOf(alice);
      assert.deepEqual(
        Array.from(config.matchAll(/^\[Peer\]\n# (.*)$/gm), ([, id]) => id),
        expected,
      );
    } finally {
      for (const agent_id of ids) {
        await removePeer("operator", agent_id);
      }
    }
  },
);

meshTest(
  "/netmap → psk_version is null before the pair's first PSK, then 1, after a rotation 2",
  async ({ alice, bob }) => {
    await join(alice);
    await join(bob);
    await agree(ruleBetween(alice, bob));
    const versions = async () =>
      (await netmapOf(alice)).peers.map(({ psk_version }) => psk_version);
    assert.deepEqual(await versions(), [null, null]);
    await configOf(bob);
    assert.deepEqual(await versions(), [null, 1]);
    assert.equal((await rotate(bob, alice, bob)).status, 200);
    assert.deepEqual(await versions(), [null, 2]);
  },
);

for (const path of ["netmap", "wg_config"]) {
  meshTest(
    `/${path} by an agent → about itself, whether it names itself or not`,
    async ({ alice }) => {
      await join(alice);
      for (const body of [{}, { agent_id: alice.id }]) {
        const answer = await post(`/agent-mesh/${path}`, { as: alice, body });
        assert.equal(answer.status, 200);
        assert.equal(answer.body["agent_id"], alice.id);
      }
    },
  );

  meshTest(
    `/${path} by an agent about another one → 403, whether that one exists or not, no change`,
    async ({ alice, bob }) => {
      await join(bob);
      await leavesUnchanged([alice, bob], async () => {
        for (const agent_id of [bob.id, "nobody-has-this"]) {
          const answer = await post(`/agent-mesh/${path}`, { as: alice, body: { agent_id } });
          assertError(answer, 403, "forbidden");
        }
      });
    },
  );

  meshTest(
    `/${path} by the operator → about the agent that it names; without agent_id → 422`,
    async ({ alice }) => {
      await join(alice);
      const named = await post(`/agent-mesh/${path}`, {
        as: "operator",
        body: { agent_id: alice.id },
      });
      assert.equal(named.body["agent_id"], alice.id);
      assertInvalid(await post(`/agent-mesh/${path}`, { as: "operator" }), "agent_id");
    },
  );
}
