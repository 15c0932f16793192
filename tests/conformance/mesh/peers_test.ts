import assert from "node:assert/strict";
import { assertError, post, succeed } from "../client.ts";
import {
  agree,
  configOf,
  join,
  leavesUnchanged,
  meshTest,
  netmapOf,
  newPubkey,
  type Peer,
  ruleBetween,
  valuesOf,
} from "../mesh_cast.ts";

const ISO_TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;

meshTest(
  "/peer/register → the peer object, with two tunnel addresses, not online",
  async ({ alice }) => {
    const pubkey = newPubkey();
    const peer = await join(alice, { pubkey, endpoint: "203.0.113.7:51820" });
    assert.deepEqual(Object.keys(peer).sort(), [
      "addresses",
      "agent_id",
      "endpoint",
      "last_seen",
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
  "/peer/register again with other values → updates them, same addresses",
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
  "/peer/register with another agent's pubkey → 409 pubkey_in_use",
  async ({ alice, bob, carol }) => {
    const { pubkey } = await join(alice);
    await join(bob);
    await leavesUnchanged([alice, bob, carol], async () => {
      for (const agent of [bob, carol]) {
        const answer = await post("/agent-mesh/peer/register", {
          as: agent,
          body: { agent_id: agent.id, pubkey },
        });
        assertError(answer, 409, "pubkey_in_use");
      }
    });
  },
);

meshTest(
  "/peer/register by a pubkey that its agent gave up → taken",
  async ({ alice, bob, carol }) => {
    const { pubkey } = await join(alice);
    await join(alice);
    assert.equal((await join(bob, { pubkey })).pubkey, pubkey);
    await succeed("/agent-mesh/peer/remove", { as: bob, body: { agent_id: bob.id } });
    assert.equal((await join(carol, { pubkey })).pubkey, pubkey);
  },
);

meshTest(
  "/peer/register with an endpoint inside the mesh → 422, in every spelling",
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
    ];
    for (const agent of [alice, bob]) {
      await leavesUnchanged([alice, bob], async () => {
        for (const endpoint of spellings) {
          const answer = await post("/agent-mesh/peer/register", {
            as: agent,
            body: { agent_id: agent.id, pubkey: newPubkey(), endpoint },
          });
          const { issues } = assertError(answer, 422, "invalid_request") as unknown as {
            issues: { path: string }[];
          };
          assert.deepEqual(issues.map(({ path }) => path), ["endpoint"], endpoint);
        }
      });
    }
  },
);

meshTest("32 registrations at once → no two share an address", async () => {
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
      await succeed("/agent-mesh/peer/remove", { as: "operator", body: { agent_id } });
    }
  }
});

meshTest("/peer/heartbeat → online, with last_seen, version and interval", async ({ alice }) => {
  await join(alice);
  const { config_version } = await netmapOf(alice);
  const beat = await succeed("/agent-mesh/peer/heartbeat", {
    as: alice,
    body: { agent_id: alice.id },
  });
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
  "/peer/heartbeat with config_version → others see what was applied, until it says otherwise",
  async ({ alice, bob }) => {
    await join(alice);
    await join(bob);
    await agree(ruleBetween(alice, bob));
    const applied = async () =>
      (await netmapOf(bob)).peers.find(({ self }) => !self)?.config_version_applied;
    assert.equal(await applied(), null);
    const beat = (body: object) =>
      succeed("/agent-mesh/peer/heartbeat", { as: alice, body: { agent_id: alice.id, ...body } });
    await beat({ config_version: 2 });
    assert.equal(await applied(), 2);
    await beat({});
    assert.equal(await applied(), 2);
    await beat({ config_version: 3 });
    assert.equal(await applied(), 3);
  },
);

meshTest(
  "an agent without a peer: /netmap, /wg_config, /peer/heartbeat → 404 peer_not_found",
  async ({ alice }) => {
    for (const path of ["netmap", "wg_config", "peer/heartbeat"]) {
      for (const as of [alice, "operator"] as const) {
        const answer = await post(`/agent-mesh/${path}`, { as, body: { agent_id: alice.id } });
        assertError(answer, 404, "peer_not_found");
      }
    }
  },
);

meshTest(
  "/peer/remove → the peer, its rules and its PSKs are gone, from everybody's map too",
  async ({ alice, bob, carol }) => {
    for (const agent of [alice, bob, carol]) await join(agent);
    await agree(ruleBetween(alice, bob));
    await agree(ruleBetween(bob, carol));
    await succeed("/agent-mesh/acl/put", { as: carol, body: ruleBetween(carol, alice) });
    const [psk] = valuesOf("PresharedKey", await configOf(alice));
    const carolsVersion = (await netmapOf(carol)).config_version;

    const remove = () =>
      succeed("/agent-mesh/peer/remove", { as: alice, body: { agent_id: alice.id } });
    assert.deepEqual(await remove(), { agent_id: alice.id, removed: true });
    assert.deepEqual(await remove(), { agent_id: alice.id, removed: false });

    const bobs = await netmapOf(bob);
    assert.deepEqual(bobs.peers.map(({ agent_id }) => agent_id), [bob.id, carol.id]);
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
  "/peer/remove of an agent without a peer → false, and the rules that name it are gone all the same",
  async ({ alice, bob }) => {
    await join(bob);
    await agree(ruleBetween(alice, bob));
    const version = (await netmapOf(bob)).config_version;
    const answer = await succeed("/agent-mesh/peer/remove", {
      as: "operator",
      body: { agent_id: alice.id },
    });
    assert.deepEqual(answer, { agent_id: alice.id, removed: false });
    const { acls, config_version } = await netmapOf(bob);
    assert.deepEqual(acls, []);
    assert.equal(config_version, version, "no text named alice");

    await join(alice);
    assert.deepEqual((await netmapOf(bob)).peers.map(({ agent_id }) => agent_id), [bob.id]);
  },
);

meshTest(
  "removed and registered again → the same addresses, and config_version goes on",
  async ({ alice, bob }) => {
    const before = await join(alice);
    const version = (await netmapOf(alice)).config_version;
    await succeed("/agent-mesh/peer/remove", { as: alice, body: { agent_id: alice.id } });
    const other = await join(bob);
    assert.notDeepEqual(other.addresses, before.addresses);
    assert.deepEqual((await join(alice)).addresses, before.addresses);
    assert.ok((await netmapOf(alice)).config_version > version);
  },
);
