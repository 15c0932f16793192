import assert from "node:assert/strict";
import { type MeshDatabase, meshDatabaseForThisFile, type ReportedPath } from "../mesh_database.ts";

const file = meshDatabaseForThisFile();

const OBSERVED = "203.0.113.7:4242";

/** By default only hub has an endpoint. alice has a rule with hub and one with bob. */
async function meshWithHub(hubEndpoint: string | null = "198.51.100.1:51820") {
  const { mesh } = file;
  await mesh.startOver();
  for (const agent of ["alice", "bob"]) await mesh.register(agent);
  await addObserver(mesh, "hub", hubEndpoint);
  await mesh.put({ from_agent: "alice", to_agent: "bob" });
  return mesh;
}

/** Registers an observer that has a rule with alice, and none with bob. */
async function addObserver(mesh: MeshDatabase, observer: string, endpoint: string | null) {
  await mesh.register(observer, {
    endpoint,
    endpoint_ip: endpoint?.replace(/:[0-9]+$/, "").replace(/^\[|\]$/g, "") ?? null,
  });
  await mesh.put({ from_agent: "alice", to_agent: observer });
}

function at(endpoint: string): Partial<ReportedPath> {
  return { endpoint, endpoint_ip: endpoint.replace(/:[0-9]+$/, "").replace(/^\[|\]$/g, "") };
}

/** alice and the observer report each other; the observer sees alice at OBSERVED. */
async function observe(
  mesh: MeshDatabase,
  observer: string,
  { seen = {}, own = {} }: { seen?: Partial<ReportedPath>; own?: Partial<ReportedPath> } = {},
) {
  await mesh.heartbeat(observer, [{ agent_id: "alice", ...at(OBSERVED), ...seen }]);
  await mesh.heartbeat("alice", [{ agent_id: observer, ...own }]);
}

Deno.test("where a reachable neighbour sees an agent → told to its other neighbours, not to the observer", async () => {
  const mesh = await meshWithHub();
  assert.equal(await mesh.observedEndpoint("bob", "alice"), null);
  await observe(mesh, "hub");
  assert.equal(await mesh.observedEndpoint("bob", "alice"), OBSERVED);
  assert.equal(await mesh.observedEndpoint("hub", "alice"), null);
  assert.equal(await mesh.observedEndpoint("alice", "bob"), null);
  // An agent that is no neighbour of alice has no entry for her.
  await mesh.register("mallory");
  assert.deepEqual((await mesh.configuration("mallory"))?.peers, []);
});

Deno.test("an observation → raises no version", async () => {
  const mesh = await meshWithHub();
  const before = (await mesh.configuration("bob"))?.config_version;
  await observe(mesh, "hub");
  const after = await mesh.configuration("bob");
  assert.equal(after?.config_version, before);
  assert.equal(after?.peers.find(({ agent_id }) => agent_id === "alice")?.endpoint, null);
});

for (
  const [circumstances, reports] of [
    ["that the agent reports without a handshake", { own: { handshake_age_seconds: null } }],
    ["that the agent reports as long over", { own: { handshake_age_seconds: 200 } }],
    ["that the agent reports as relayed", { own: { via: "relay" } }],
    ["that the observer reports as relayed", { seen: { via: "relay" } }],
    ["that the observer reports as none", { seen: { via: "none" } }],
    ["whose handshake the observer reports as long over", { seen: { handshake_age_seconds: 200 } }],
    ["whose address the observer does not know", { seen: { endpoint: null, endpoint_ip: null } }],
    ["at a private address", { seen: at("192.168.1.9:4242") }],
    ["at a private IPv6 address", { seen: at("[fd00::9]:4242") }],
    ["at an address inside the mesh", { seen: at("10.213.0.7:4242") }],
  ] as const
) {
  Deno.test(`an observation ${circumstances} → not believed`, async () => {
    const mesh = await meshWithHub();
    await observe(mesh, "hub");
    assert.equal(await mesh.observedEndpoint("bob", "alice"), OBSERVED);
    await observe(mesh, "hub", reports);
    assert.equal(await mesh.observedEndpoint("bob", "alice"), null);
  });
}

Deno.test("an observation that neither side names any more → told for the online window", async () => {
  const mesh = await meshWithHub();
  await observe(mesh, "hub");
  for (const agent of ["hub", "alice"]) await mesh.heartbeat(agent, []);
  assert.equal(await mesh.observedEndpoint("bob", "alice"), OBSERVED);
  await mesh.owner`
    update mesh.path_reports set left_out_at = now() - interval '91 seconds' where agent_id = 'alice'`;
  assert.equal(await mesh.observedEndpoint("bob", "alice"), null);
});

Deno.test("an observation that the agent never confirmed → not believed", async () => {
  const mesh = await meshWithHub();
  await mesh.heartbeat("hub", [{ agent_id: "alice", ...at(OBSERVED) }]);
  await mesh.heartbeat("alice", [{ agent_id: "bob" }]);
  assert.equal(await mesh.observedEndpoint("bob", "alice"), null);
});

Deno.test("an observer that cannot be reached itself → not believed", async () => {
  const mesh = await meshWithHub(null);
  await observe(mesh, "hub");
  assert.equal(await mesh.observedEndpoint("bob", "alice"), null);
});

Deno.test("a private address, from an observer that is reached at a private address → believed", async () => {
  const mesh = await meshWithHub("192.168.1.2:51820");
  await observe(mesh, "hub", { seen: at("192.168.1.9:4242") });
  assert.equal(await mesh.observedEndpoint("bob", "alice"), "192.168.1.9:4242");
});

Deno.test("an observer whose rule was revoked since → not believed", async () => {
  const mesh = await meshWithHub();
  await observe(mesh, "hub");
  await mesh.revoke({ from_agent: "alice", to_agent: "hub" });
  assert.equal(await mesh.observedEndpoint("bob", "alice"), null);
});

for (const silent of ["hub", "alice"]) {
  Deno.test(`an observation after ${silent} fell silent → no longer told`, async () => {
    const mesh = await meshWithHub();
    await observe(mesh, "hub");
    await mesh.owner`
      update mesh.liveness
      set last_seen = now() - interval '91 seconds', paths_reported_at = now() - interval '91 seconds'
      where agent_id = ${silent}`;
    assert.equal(await mesh.observedEndpoint("bob", "alice"), null);
  });
}

Deno.test("one wrong observer, and two that agree → what the two say, whoever reports last", async () => {
  const mesh = await meshWithHub();
  await addObserver(mesh, "hub-2", "198.51.100.2:51820");
  await addObserver(mesh, "liar", "198.51.100.3:51820");
  const told: (string | null)[] = [];
  for (const last of ["hub", "hub-2", "liar"]) {
    for (const observer of ["hub", "hub-2", "liar", last]) {
      const where = at(observer === "liar" ? "203.0.113.66:53" : OBSERVED);
      await mesh.heartbeat(observer, [{ agent_id: "alice", ...where }]);
    }
    await mesh.heartbeat("alice", ["hub", "hub-2", "liar"].map((agent_id) => ({ agent_id })));
    told.push(await mesh.observedEndpoint("bob", "alice"));
  }
  assert.deepEqual(told, [OBSERVED, OBSERVED, OBSERVED]);
});

for (const [older, newer] of [["hub", "liar"], ["liar", "hub"]] as const) {
  Deno.test(`two observers that do not agree → what ${older} says, whose path the agent has reported for longer, however often ${newer} reports`, async () => {
    const mesh = await meshWithHub();
    await addObserver(mesh, "liar", "198.51.100.3:51820");
    const seenBy = { hub: OBSERVED, liar: "203.0.113.66:53" };
    await mesh.heartbeat("alice", ["hub", "liar"].map((agent_id) => ({ agent_id })));
    await mesh.owner`
      update mesh.path_reports set since = since - interval '1 hour'
      where agent_id = 'alice' and other_agent = ${older}`;
    for (const observer of [older, newer, newer, newer]) {
      await mesh.heartbeat(observer, [{ agent_id: "alice", ...at(seenBy[observer]) }]);
    }
    assert.equal(await mesh.observedEndpoint("bob", "alice"), seenBy[older]);
    await mesh.heartbeat("alice", ["hub", "liar"].map((agent_id) => ({ agent_id })));
    await mesh.heartbeat(newer, [{ agent_id: "alice", ...at(seenBy[newer]) }]);
    assert.equal(await mesh.observedEndpoint("bob", "alice"), seenBy[older]);
  });
}

Deno.test("a neighbour that claims to see an agent it never met → not believed, whatever it reports", async () => {
  const mesh = await meshWithHub();
  await observe(mesh, "hub");
  // mallory is reachable and bob's neighbour, but shares no rule with alice.
  await mesh.register("mallory", { endpoint: "198.51.100.66:51820", endpoint_ip: "198.51.100.66" });
  await mesh.put({ from_agent: "mallory", to_agent: "bob" });
  await mesh.heartbeat("mallory", [{ agent_id: "alice", ...at("203.0.113.66:53") }]);
  assert.equal(await mesh.observedEndpoint("bob", "alice"), OBSERVED);
  // Now alice has a rule with mallory, but no handshake.
  await mesh.put({ from_agent: "mallory", to_agent: "alice" });
  await mesh.heartbeat("mallory", [{ agent_id: "alice", ...at("203.0.113.66:53") }]);
  await mesh.heartbeat("alice", [
    { agent_id: "hub" },
    { agent_id: "mallory", via: "none", handshake_age_seconds: null },
  ]);
  assert.equal(await mesh.observedEndpoint("bob", "alice"), OBSERVED);
});
