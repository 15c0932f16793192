import assert from "node:assert/strict";
import { assertError, assertInvalid, ISO_TIMESTAMP, post, succeed } from "../client.ts";
import {
  agree,
  configOf,
  configVersionOf,
  heartbeat,
  idsIn,
  join,
  leavesUnchanged,
  meshTest,
  netmapOf,
  newPubkey,
  type Peer,
  putRule,
  removePeer,
  ruleBetween,
  tryJoin,
  valuesOf,
} from "../mesh_cast.ts";

meshTest(
  "/peer/register → the peer, with two tunnel addresses, not online",
  async ({ alice }) => {
    const pubkey = newPubkey();
    const peer = await join(alice, { pubkey, endpoint: "203.0.113.7:51820" });
    assert.deepEqual(Object.keys(peer).sort(), [
      "addresses",
      "agent_id",
      "endpoint",
      "endpoints",
      "last_seen",
      "name",
      "online",
      "pubkey",
      "registered_at",
      "updated_at",
    ]);
    assert.equal(peer.agent_id, alice.id);
    assert.equal(peer.pubkey, pubkey);
    assert.equal(peer.endpoint, "203.0.113.7:51820");
    assert.equal(peer.addresses.length, 2);
    assert.match(peer.addresses[0], /^\d+\.\d+\.\d+\.\d+$/);
    assert.match(peer.addresses[1], /^fd[0-9a-f:]+$/);
    assert.equal(peer.last_seen, null);
    assert.equal(peer.online, false);
    assert.match(peer.registered_at, ISO_TIMESTAMP);
    assert.match(peer.updated_at, ISO_TIMESTAMP);
  },
);

meshTest(
  "/peer/register with endpoint null or left out → a peer behind NAT",
  async ({ alice, bob }) => {
    assert.equal((await join(alice, { endpoint: null })).endpoint, null);
    assert.equal((await join(bob)).endpoint, null);
  },
);

meshTest(
  "/peer/register again with other values → they are updated, the addresses stay",
  async ({ alice }) => {
    const before = await join(alice, { endpoint: "203.0.113.7:51820" });
    const after = await join(alice, { endpoint: "relay.example:7" });
    assert.equal(after.endpoint, "relay.example:7");
    assert.ok(after.pubkey !== before.pubkey);
    assert.ok(after.updated_at >= before.updated_at);
    assert.equal(after.registered_at, before.registered_at);
    assert.deepEqual(after.addresses, before.addresses);

    const withoutEndpoint = await join(alice, { pubkey: after.pubkey });
    assert.deepEqual(withoutEndpoint, {
      ...after,
      endpoint: null,
      endpoints: [],
      updated_at: withoutEndpoint.updated_at,
    });
  },
);

meshTest("/peer/register again with the same values → the same peer", async ({ alice }) => {
  const before = await join(alice, { endpoint: "203.0.113.7:51820" });
  await leavesUnchanged([alice], async () => {
    const after = await join(alice, { pubkey: before.pubkey, endpoint: before.endpoint });
    assert.deepEqual(after, before);
  });
});

meshTest(
  "/peer/register with another agent's pubkey → 409 pubkey_in_use, and nothing changes",
  async ({ alice, bob, carol }) => {
    const { pubkey } = await join(alice);
    await join(bob);
    await leavesUnchanged([alice, bob, carol], async () => {
      for (const agent of [bob, carol]) {
        assertError(await tryJoin(agent, { pubkey }), 409, "pubkey_in_use");
      }
    });
  },
);

meshTest(
  "/peer/register with a pubkey that another agent gave up for another → 200",
  async ({ alice, bob }) => {
    const { pubkey } = await join(alice);
    await join(alice);
    assert.equal((await join(bob, { pubkey })).pubkey, pubkey);
  },
);

meshTest(
  "/peer/register with the pubkey of a peer that was just removed → 409 for others, 200 for its agent",
  async ({ alice, bob, carol }) => {
    const { pubkey } = await join(alice);
    await join(bob);
    await removePeer(alice, alice.id);
    await leavesUnchanged([alice, bob, carol], async () => {
      for (const agent of [bob, carol]) {
        const answer = await tryJoin(agent, { pubkey });
        assertError(answer, 409, "pubkey_in_use");
        assert.match(JSON.stringify(answer.body), /Make a new key pair/);
      }
    });
    assert.equal((await join(alice, { pubkey })).pubkey, pubkey);
  },
);

meshTest(
  "/peer/register with an endpoint inside the mesh, in any spelling → 422, nothing changes",
  async ({ alice, bob }) => {
    const { addresses: [ipv4, ipv6] } = await join(alice);
    const [a = 0, b = 0, c = 0, d = 0] = ipv4.split(".").map(Number);
    const hex = [a * 256 + b, c * 256 + d].map((half) => half.toString(16)).join(":");
    const spellings = [
      `${ipv4}:51820`,
      `[${ipv6}]:51820`,
      `[${ipv6.toUpperCase()}]:51820`,
      `[::ffff:${ipv4}]:51820`,
      `[::ffff:${hex}]:51820`,
      `[0:0:0:0:0:FFFF:${hex}]:51820`,
      `[::${ipv4}]:51820`,
      `[64:ff9b::${ipv4}]:51820`,
    ];
    for (const agent of [alice, bob]) {
      await leavesUnchanged([alice, bob], async () => {
        for (const endpoint of spellings) {
          assertInvalid(await tryJoin(agent, { endpoint }), "endpoint");
        }
      });
    }
  },
);

meshTest("32 /peer/register at once → no two peers share an address", async () => {
  const ids = Array.from({ length: 32 }, () => `crowd-${crypto.randomUUID()}`);
  try {
    const peers = await Promise.all(
      ids.map((agent_id) =>
        succeed<Peer>("/agent-mesh/peer/register", {
          as: "operator",
          body: { agent_id, pubkey: newPubkey() },
        })
      ),
    );
    for (const kind of [0, 1] as const) {
      assert.equal(new Set(peers.map(({ addresses }) => addresses[kind])).size, 32);
    }
  } finally {
    for (const agent_id of ids) {
      await removePeer("operator", agent_id);
    }
  }
});

meshTest("/peer/heartbeat → online, with last_seen, version and interval", async ({ alice }) => {
  await join(alice);
  const config_version = await configVersionOf(alice);
  const beat = await heartbeat(alice);
  assert.deepEqual(beat, {
    agent_id: alice.id,
    last_seen: beat["last_seen"],
    online: true,
    config_version,
    heartbeat_interval_seconds: beat["heartbeat_interval_seconds"],
  });
  assert.match(String(beat["last_seen"]), ISO_TIMESTAMP);
  assert.ok(Number.isInteger(beat["heartbeat_interval_seconds"]));
  const [self] = (await netmapOf(alice)).peers;
  assert.equal(self?.online, true);
  assert.equal(self?.last_seen, beat["last_seen"]);
});

meshTest(
  "/peer/heartbeat with config_version → others see it, until a later heartbeat gives another",
  async ({ alice, bob }) => {
    await join(alice);
    await join(bob);
    await agree(ruleBetween(alice, bob));
    const applied = async () =>
      (await netmapOf(bob)).peers.find(({ self }) => !self)?.config_version_applied;
    assert.equal(await applied(), null);
    await heartbeat(alice, { config_version: 2 });
    assert.equal(await applied(), 2);
    await heartbeat(alice);
    assert.equal(await applied(), 2);
    await heartbeat(alice, { config_version: 3 });
    assert.equal(await applied(), 3);
  },
);

meshTest(
  "/netmap, /wg_config, /peer/heartbeat of an agent without a peer → 404, and it still has none",
  async ({ alice }) => {
    await leavesUnchanged([alice], async () => {
      for (const path of ["netmap", "wg_config", "peer/heartbeat"]) {
        for (const as of [alice, "operator"] as const) {
          const answer = await post(`/agent-mesh/${path}`, { as, body: { agent_id: alice.id } });
          assertError(answer, 404, "peer_not_found");
        }
      }
    });
    assert.equal((await join(alice)).last_seen, null);
  },
);

meshTest(
  "/peer/remove → the peer, its rules and its PSKs are gone, and it is in nobody's map",
  async ({ alice, bob, carol }) => {
    for (const agent of [alice, bob, carol]) await join(agent);
    await agree(ruleBetween(alice, bob));
    await agree(ruleBetween(bob, carol));
    assert.equal((await putRule(carol, ruleBetween(carol, alice))).status, 200);
    const [psk] = valuesOf("PresharedKey", await configOf(alice));
    const carolsVersion = await configVersionOf(carol);

    assert.deepEqual(await removePeer(alice, alice.id), { agent_id: alice.id, removed: true });
    assert.deepEqual(await removePeer(alice, alice.id), { agent_id: alice.id, removed: false });

    const bobs = await netmapOf(bob);
    assert.deepEqual(idsIn(bobs), [bob.id, carol.id]);
    assert.deepEqual(bobs.acls, [ruleBetween(bob, carol)]);
    const carols = await netmapOf(carol);
    assert.deepEqual(carols.acl_requests, []);
    assert.equal(carols.config_version, carolsVersion, "carol never saw alice");
    assertError(await post("/agent-mesh/netmap", { as: alice }), 404, "peer_not_found");

    await join(alice);
    assert.equal((await netmapOf(alice)).peers.length, 1);
    await agree(ruleBetween(alice, bob));
    assert.notDeepEqual(valuesOf("PresharedKey", await configOf(alice)), [psk]);
  },
);

meshTest(
  "/peer/remove of an agent without a peer → removed: false, and the rules that name it are gone",
  async ({ alice, bob }) => {
    await join(bob);
    await agree(ruleBetween(alice, bob));
    const version = await configVersionOf(bob);
    const answer = await removePeer("operator", alice.id);
    assert.deepEqual(answer, { agent_id: alice.id, removed: false });
    const { acls, config_version } = await netmapOf(bob);
    assert.deepEqual(acls, []);
    assert.equal(config_version, version, "no configuration named alice");

    await join(alice);
    assert.deepEqual(idsIn(await netmapOf(bob)), [bob.id]);
  },
);

meshTest(
  "/peer/remove, then /peer/register → the same addresses, and config_version goes on rising",
  async ({ alice, bob }) => {
    const before = await join(alice);
    const version = await configVersionOf(alice);
    await removePeer(alice, alice.id);
    const other = await join(bob);
    assert.notDeepEqual(other.addresses, before.addresses);
    assert.deepEqual((await join(alice)).addresses, before.addresses);
    assert.ok(await configVersionOf(alice) > version);
  },
);
