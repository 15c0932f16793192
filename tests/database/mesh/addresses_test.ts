import assert from "node:assert/strict";
import { withStackDatabase } from "../connection.ts";
import { agentNames, meshDatabaseForThisFile, untilDone } from "./mesh_database.ts";

const file = meshDatabaseForThisFile();

/** Has six host addresses. */
const SMALL_NETWORK = "10.99.0.0/29";
const NETWORK_FULL = { sqlstate: "PT409", message: "network_full" };
const PUBKEY_IN_USE = { sqlstate: "PT409", message: "pubkey_in_use" };
const MORE_THAN_A_DAY = "1 day 1 minute";

Deno.test("32 agents register at once → 32 addresses of each kind, all in the mesh's networks", async () => {
  const { mesh } = file;
  await mesh.startOver();
  const peers = await Promise.all(
    agentNames(32).map((name) => untilDone(() => mesh.register(name))),
  );
  for (const kind of [0, 1] as const) {
    assert.equal(new Set(peers.map(({ addresses }) => addresses[kind])).size, 32);
  }
  const [outside] = await mesh.owner`
    select count(*)::integer as count
    from mesh.address_leases l cross join mesh.settings s
    where not (l.ipv4 << s.ipv4_network and l.ipv6 << s.ipv6_network)
      or host(l.ipv4) = host(network(s.ipv4_network))
      or host(l.ipv4) = host(broadcast(s.ipv4_network))`;
  assert.equal(outside?.["count"], 0);
});

Deno.test("the same agent registers 16 times at once → one peer, one address", async () => {
  const { mesh } = file;
  await mesh.startOver();
  const peers = await Promise.all(
    Array.from({ length: 16 }, () => untilDone(() => mesh.register("busy"))),
  );
  assert.equal(new Set(peers.map(({ addresses }) => addresses.join())).size, 1);
  const [leases] = await mesh.owner`select count(*)::integer as count from mesh.address_leases`;
  assert.equal(leases?.["count"], 1);
});

Deno.test("a registration with other values → the same addresses", async () => {
  const { mesh } = file;
  await mesh.startOver();
  const before = await mesh.register("alice");
  await mesh.register("bob");
  const after = await mesh.register("alice", { endpoint: "host.example:51820" });
  assert.equal(after.endpoint, "host.example:51820");
  assert.deepEqual(after.addresses, before.addresses);
});

Deno.test("one more agent than the network has room for → network_full, and nothing is left of it", async () => {
  const { mesh } = file;
  await mesh.startOver(SMALL_NETWORK);
  const names = agentNames(7).map((name) => `crowd-${name}`);
  const settled = await Promise.allSettled(
    names.map((name) => untilDone(() => mesh.register(name))),
  );
  assert.equal(settled.filter(({ status }) => status === "fulfilled").length, 6);
  const refused = names[settled.findIndex(({ status }) => status === "rejected")] ?? "";
  await assert.rejects(mesh.register(refused), NETWORK_FULL);
  assert.equal(await mesh.configuration(refused), null);
  const [left] = await mesh.owner`
    select (select count(*) from mesh.peers)::integer as peers,
      (select count(*) from mesh.address_leases)::integer as leases,
      (select count(*) from agents.events where subject_agent_id = ${refused})::integer as events`;
  assert.deepEqual({ ...left }, { peers: 6, leases: 6, events: 0 });
});

Deno.test("a removed peer's addresses rest for a day: nobody else gets them, the same agent does", async () => {
  const { mesh } = file;
  await mesh.startOver(SMALL_NETWORK);
  const peers = [];
  for (const name of agentNames(6)) peers.push(await mesh.register(name));
  await mesh.remove("agent-3");
  await assert.rejects(mesh.register("newcomer"), NETWORK_FULL);
  assert.deepEqual((await mesh.register("agent-3")).addresses, peers[3]?.addresses);
});

Deno.test("addresses that have rested for a day go to somebody else, the longest rested first", async () => {
  const { mesh } = file;
  await mesh.startOver(SMALL_NETWORK);
  const peers = [];
  for (const name of agentNames(6)) peers.push(await mesh.register(name));
  for (const name of ["agent-4", "agent-2"]) {
    await mesh.remove(name);
    await mesh.owner`
      update mesh.address_leases set released_at = released_at - ${MORE_THAN_A_DAY}::interval
      where released_at is not null`;
  }
  assert.deepEqual((await mesh.register("newcomer")).addresses, peers[4]?.addresses);
  assert.deepEqual((await mesh.register("agent-2")).addresses, peers[2]?.addresses);
  await assert.rejects(mesh.register("agent-4"), NETWORK_FULL);
});

Deno.test("the public key of a removed peer rests for a day: only its agent can register it", async () => {
  const { mesh } = file;
  await mesh.startOver();
  const { pubkey } = await mesh.register("alice");
  await mesh.register("bob");
  await mesh.remove("alice");
  for (const squatter of ["bob", "carol"]) {
    await assert.rejects(mesh.register(squatter, { pubkey }), PUBKEY_IN_USE);
  }
  assert.equal(await mesh.configuration("carol"), null);
  assert.equal((await mesh.register("alice", { pubkey })).pubkey, pubkey);

  await mesh.remove("alice");
  await mesh.owner`
    update mesh.address_leases set released_at = released_at - ${MORE_THAN_A_DAY}::interval
    where released_at is not null`;
  assert.equal((await mesh.register("bob", { pubkey })).pubkey, pubkey);
});

Deno.test("a removed peer's agent comes back with another public key → the earlier one is free", async () => {
  const { mesh } = file;
  await mesh.startOver();
  const { pubkey } = await mesh.register("alice");
  await mesh.remove("alice");
  await mesh.register("alice");
  assert.equal((await mesh.register("bob", { pubkey })).pubkey, pubkey);
});

Deno.test("an agent that registers and removes itself 20 times → uses one address of the network", async () => {
  const { mesh } = file;
  await mesh.startOver(SMALL_NETWORK);
  for (let round = 0; round < 20; round++) {
    await mesh.register("restless");
    await mesh.remove("restless");
  }
  const others = await Promise.all(
    agentNames(5).map((name) => untilDone(() => mesh.register(name))),
  );
  assert.equal(others.length, 5);
});

Deno.test("the networks are changed while there is a peer → refused, and they stay", async () => {
  const { mesh } = file;
  await mesh.startOver();
  await mesh.register("alice");
  const change = () => mesh.owner`update mesh.settings set ipv4_network = '10.98.0.0/24'`;
  await assert.rejects(change(), /only be changed while there is no peer/);
  await assert.rejects(
    Promise.resolve(mesh.owner`delete from mesh.settings`),
    /only be changed while there is no peer/,
  );
  assert.equal((await mesh.configuration("alice"))?.networks[0], "10.213.0.0/16");

  await mesh.remove("alice");
  await change();
  assert.deepEqual((await mesh.register("alice")).addresses[0], "10.98.0.1");
});

Deno.test("the networks change while 16 agents register → every address is in the current networks", async () => {
  const { mesh } = file;
  await mesh.startOver();
  const change = mesh.owner`update mesh.settings set ipv4_network = '10.97.0.0/24'`;
  await Promise.allSettled([
    ...agentNames(8).map((name) => mesh.register(name)),
    change.execute(),
    ...agentNames(16).slice(8).map((name) => mesh.register(name)),
  ]);
  const [outside] = await mesh.owner`
    select count(*)::integer as count
    from mesh.address_leases l cross join mesh.settings s
    where not (l.ipv4 << s.ipv4_network)`;
  assert.equal(outside?.["count"], 0);
});

Deno.test("settings that no mesh can have → refused by their constraints", async () => {
  const { mesh } = file;
  await mesh.startOver();
  const networks = () => mesh.owner`select ipv4_network, ipv6_network from mesh.settings`;
  const before = [...await networks()];
  const refused = {
    "'10.0.0.0/30'": /ipv4_network_has_room_for_peers/,
    "'fd00::/64'": /ipv4_network_has_room_for_peers/,
    "'0.0.0.0/8'": /ipv4_network_has_no_special_address/,
    "'127.1.0.0/16'": /ipv4_network_has_no_special_address/,
    "'169.254.0.0/16'": /ipv4_network_has_no_special_address/,
    "'169.254.169.0/24'": /ipv4_network_has_no_special_address/,
    "'169.0.0.0/8'": /ipv4_network_has_no_special_address/,
    "'224.0.0.0/8'": /ipv4_network_has_no_special_address/,
    "'255.255.255.0/24'": /ipv4_network_has_no_special_address/,
  };
  for (const [network, constraint] of Object.entries(refused)) {
    await assert.rejects(
      Promise.resolve(mesh.owner.unsafe(`update mesh.settings set ipv4_network = ${network}`)),
      constraint,
    );
  }
  await assert.rejects(
    Promise.resolve(mesh.owner`update mesh.settings set ipv6_network = '2001:db8::/64'`),
    /ipv6_network_is_a_unique_local_64/,
  );
  assert.deepEqual([...await networks()], before);
});

Deno.test("an endpoint inside the mesh's networks, in any spelling → invalid_request, nothing registered", async () => {
  const { mesh } = file;
  await mesh.startOver("10.96.0.0/24");
  const { networks } = await mesh.register("alice").then(() => mesh.configuration("alice")) ??
    { networks: [] };
  const inside = [
    "10.96.0.9",
    "10.96.0.255",
    "::ffff:10.96.0.9",
    "::ffff:a60:9",
    networks[1]?.replace("::/64", "::9"),
  ];
  for (const endpoint_ip of inside) {
    await assert.rejects(
      mesh.register("bob", { endpoint: "198.51.100.1:51820", endpoint_ip: endpoint_ip ?? "" }),
      { sqlstate: "PT422", message: "invalid_request" },
      endpoint_ip,
    );
    assert.equal(await mesh.configuration("bob"), null);
  }
  for (const endpoint_ip of ["10.96.1.9", "::ffff:10.96.1.9", "fd00::9", null]) {
    await mesh.register("bob", { endpoint: "198.51.100.1:51820", endpoint_ip });
  }
});

Deno.test("each project draws an IPv6 network of its own", async () => {
  const [first] = await file.mesh.owner`select ipv6_network from mesh.settings`;
  // Another run of the migrations created the stack's database.
  const [second] = await withStackDatabase((sql) => sql`select ipv6_network from mesh.settings`);
  for (const settings of [first, second]) {
    assert.match(settings?.["ipv6_network"], /^fd[0-9a-f]{2}:[0-9a-f:]*::\/64$/);
  }
  assert.notEqual(first?.["ipv6_network"], second?.["ipv6_network"]);
});
