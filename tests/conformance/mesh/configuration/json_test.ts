import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import {
  assertError,
  assertInvalid,
  fetchDescribed,
  headersOf,
  post,
  succeed,
} from "../../client.ts";
import {
  type AccessRule,
  agree,
  configOf,
  configVersionOf,
  join,
  leavesUnchanged,
  type MeshCast,
  meshTest,
  netmapOf,
  pairUp,
  revokeRule,
  rotate,
  ruleBetween,
  valuesOf,
} from "../../mesh_cast.ts";

interface JsonPeer {
  readonly agent_id: string;
  readonly name: string;
  readonly public_key: string;
  readonly preshared_key: string;
  readonly allowed_ips: readonly string[];
  readonly endpoints: readonly string[];
  readonly observed_endpoint: string | null;
  readonly persistent_keepalive: number;
}

interface JsonConfiguration {
  readonly agent_id: string;
  readonly config_version: number;
  readonly interface: {
    readonly addresses: readonly string[];
    readonly mtu: number;
    readonly listen_port: number | null;
  };
  readonly peers: readonly JsonPeer[];
  readonly rules: readonly AccessRule[];
  readonly relay: boolean;
  readonly report_refused: boolean;
}

function jsonOf(agent: MeshCast["alice"], body: object = {}): Promise<JsonConfiguration> {
  return succeed("/agent-mesh/wg_config", { as: agent, body: { format: "json", ...body } });
}

meshTest(
  "/wg_config as json → what the text says: addresses, keys, PSKs, allowed IPs, endpoints",
  async ({ alice, bob, carol }) => {
    await join(alice, { endpoint: "203.0.113.7:51820", listen_port: 700 });
    const endpoints = ["[2001:db8::7]:7", "192.0.2.9:51820", "bob.example:51820"];
    const bobs = await join(bob, { endpoints });
    const carols = await join(carol);
    await agree(ruleBetween(bob, alice, { port: 8080 }));
    await agree(ruleBetween(alice, carol, { port: 53, proto: "udp" }));

    const json = await jsonOf(alice);
    const text = await configOf(alice);
    assert.deepEqual(Object.keys(json), [
      "agent_id",
      "config_version",
      "interface",
      "peers",
      "rules",
      "relay",
      "report_refused",
    ]);
    assert.equal(json.agent_id, alice.id);
    assert.equal(json.config_version, text.config_version);
    const [ipv6] = /(?<=^#address ).*$/m.exec(text.config) ?? [];
    assert.deepEqual(json.interface, {
      addresses: [...valuesOf("Address", text), ipv6],
      mtu: Number(valuesOf("MTU", text)[0]),
      listen_port: 700,
    });
    assert.deepEqual(valuesOf("ListenPort", text), ["700"]);

    assert.deepEqual(json.peers.map(({ agent_id }) => agent_id), [bob.id, carol.id].sort());
    for (
      const [key, values] of [
        ["PublicKey", json.peers.map((peer) => peer.public_key)],
        ["PresharedKey", json.peers.map((peer) => peer.preshared_key)],
        ["AllowedIPs", json.peers.map((peer) => peer.allowed_ips.join(", "))],
        ["PersistentKeepalive", json.peers.map((peer) => String(peer.persistent_keepalive))],
        ["Endpoint", json.peers.flatMap((peer) => peer.endpoints.slice(0, 1))],
      ] as const
    ) assert.deepEqual(values, valuesOf(key, text), key);

    const ofBob = json.peers.find(({ agent_id }) => agent_id === bob.id)!;
    assert.deepEqual(Object.keys(ofBob), [
      "agent_id",
      "name",
      "public_key",
      "preshared_key",
      "allowed_ips",
      "endpoints",
      "observed_endpoint",
      "persistent_keepalive",
    ]);
    assert.equal(ofBob.name, bobs.name);
    assert.deepEqual(ofBob.endpoints, endpoints);
    assert.equal(Buffer.from(ofBob.preshared_key, "base64").length, 32);
    const ofCarol = json.peers.find(({ agent_id }) => agent_id === carol.id)!;
    assert.deepEqual([ofCarol.name, ofCarol.endpoints], [carols.name, []]);
    for (const peer of json.peers) assert.equal(peer.observed_endpoint, null);
  },
);

meshTest(
  "/wg_config as json, of a peer that a reachable neighbour sees → observed_endpoint, and no new config_version",
  async ({ alice, bob, carol }) => {
    await join(carol, { endpoint: "198.51.100.1:51820" });
    for (const agent of [alice, bob]) await join(agent);
    await agree(ruleBetween(alice, bob));
    await agree(ruleBetween(alice, carol));
    const before = await jsonOf(bob);
    const fresh = { handshake_age_seconds: 5, via: "direct" };
    const seen = { agent_id: alice.id, endpoint: "203.0.113.7:4242", ...fresh };
    const heard = { agent_id: carol.id, endpoint: "198.51.100.1:51820", ...fresh };
    await succeed("/agent-mesh/peer/heartbeat", { as: carol, body: { paths: [seen] } });
    await succeed("/agent-mesh/peer/heartbeat", { as: alice, body: { paths: [heard] } });

    const peers = before.peers.map((peer) => ({ ...peer, observed_endpoint: "203.0.113.7:4242" }));
    assert.deepEqual(await jsonOf(bob), { ...before, peers });
    assert.ok(!(await configOf(bob)).config.includes("203.0.113.7"));
  },
);

meshTest(
  "/wg_config as json → the active rules of both directions, as in /netmap, and no requests",
  async ({ alice, bob, carol }) => {
    for (const agent of [alice, bob, carol]) await join(agent);
    for (
      const [from, to, port] of [
        [bob, alice, 8080],
        [bob, alice, 80],
        [alice, bob, 443],
        [alice, carol, 22],
        [carol, bob, 7],
      ] as const
    ) await agree(ruleBetween(from, to, { port }));
    await post("/agent-mesh/acl/put", { as: carol, body: ruleBetween(carol, alice) });
    for (const agent of [alice, bob, carol]) {
      assert.deepEqual((await jsonOf(agent)).rules, (await netmapOf(agent)).acls);
    }
    assert.equal((await jsonOf(alice)).rules.length, 4);
  },
);

meshTest(
  "a second rule of an agent towards a peer → in the json, no new config_version, told by an event",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    const version = await configVersionOf(alice);
    const { latest } = await succeed<{ latest: string }>("/agent-mesh/events", { as: alice });
    const second = ruleBetween(alice, bob, { port: 8443 });
    await agree(second);
    const news = await succeed<{ config_version: number; events: { changed: boolean } }>(
      "/agent-mesh/wait",
      { as: alice, body: { config_version: version, events_after: latest, wait_seconds: 30 } },
    );
    assert.deepEqual([news.config_version, news.events.changed], [version, true]);
    const json = await jsonOf(alice);
    assert.equal(json.config_version, version);
    assert.deepEqual(json.rules, [ruleBetween(alice, bob), second]);
    await revokeRule(bob, second);
    assert.deepEqual((await jsonOf(alice)).rules, [ruleBetween(alice, bob)]);
  },
);

meshTest(
  "/wg_config as json → the pair's one PSK for both, as the text; another after /psk/rotate",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    const [first, same] = await Promise.all([jsonOf(alice), jsonOf(bob)]);
    const psk = first.peers[0]!.preshared_key;
    assert.equal(same.peers[0]!.preshared_key, psk);
    assert.deepEqual(valuesOf("PresharedKey", await configOf(bob)), [psk]);
    await rotate(alice, alice, bob);
    const rotated = await jsonOf(bob);
    assert.notEqual(rotated.peers[0]!.preshared_key, psk);
    assert.deepEqual(valuesOf("PresharedKey", await configOf(alice)), [
      rotated.peers[0]!.preshared_key,
    ]);
  },
);

meshTest(
  "/wg_config as json with accept: text/plain → JSON; of the operator → of any agent",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    const json = await jsonOf(alice);
    const response = await fetchDescribed("/agent-mesh/wg_config", {
      method: "POST",
      headers: { ...headersOf(alice), accept: "text/plain" },
      body: JSON.stringify({ format: "json" }),
    });
    assert.equal(response.headers.get("cache-control"), "no-store");
    assert.deepEqual(await response.json(), json);
    const asked = { agent_id: alice.id, format: "json" };
    assert.deepEqual(
      await succeed("/agent-mesh/wg_config", { as: "operator", body: asked }),
      json,
    );
    assert.deepEqual(
      await succeed("/agent-mesh/wg_config", { as: alice, body: { format: "wg-quick" } }),
      await configOf(alice),
    );
  },
);

meshTest(
  "/wg_config with another format, of another agent, or without a peer → refused, and no PSK is made",
  async ({ alice, bob, carol }) => {
    await pairUp(alice, bob);
    for (const format of ["yaml", "", "JSON", null, 1, ["json"]]) {
      assertInvalid(await post("/agent-mesh/wg_config", { as: alice, body: { format } }), "format");
    }
    const asCarol = { as: carol, body: { format: "json" } };
    assertError(await post("/agent-mesh/wg_config", asCarol), 404, "peer_not_found");
    const foreign = { agent_id: alice.id, format: "json" };
    assertError(
      await post("/agent-mesh/wg_config", { as: carol, body: foreign }),
      403,
      "forbidden",
    );
    assert.deepEqual((await netmapOf(alice)).peers.map((peer) => peer.psk_version), [null, null]);
    await leavesUnchanged([alice, bob], () => post("/agent-mesh/wg_config", asCarol));
  },
);
