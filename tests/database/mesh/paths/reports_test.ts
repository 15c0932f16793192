import assert from "node:assert/strict";
import { agentNames } from "../mesh_database.ts";
import { age, meshOf, NO_REPORTS, places, present } from "./reporting_mesh.ts";

Deno.test("a report → in the map of either side, each from its own point of view", async () => {
  const mesh = await meshOf("alice", "bob");
  assert.deepEqual(await mesh.pathBetween("alice", "bob"), NO_REPORTS);
  assert.equal(await mesh.pathBetween("alice", "alice"), null);
  await mesh.heartbeat("alice", [{
    agent_id: "bob",
    endpoint: "203.0.113.7:4242",
    endpoint_ip: "203.0.113.7",
    handshake_age_seconds: 42,
  }]);
  const seenByAlice = await mesh.pathBetween("alice", "bob");
  const report = present(seenByAlice?.reported_by_self);
  assert.deepEqual(
    { ...report, since: "", reported_at: "" },
    {
      works: true,
      via: "direct",
      since: "",
      handshake_age_seconds: 42,
      endpoint: "203.0.113.7:4242",
      reported_at: "",
    },
  );
  assert.equal(Date.parse(report.reported_at) - Date.parse(report.since), 42_000);
  assert.equal(seenByAlice?.reported_by_peer, null);
  assert.deepEqual(await mesh.pathBetween("bob", "alice"), {
    reported_by_self: null,
    reported_by_peer: report,
  });
});

for (
  const [circumstances, path, works] of [
    ["by a relay", { via: "relay" }, true],
    ["without a way", { via: "none" }, false],
    ["without a handshake", { handshake_age_seconds: null }, false],
    ["with a handshake of 179 seconds ago", { handshake_age_seconds: 179 }, true],
    ["with a handshake of 181 seconds ago", { handshake_age_seconds: 181 }, false],
  ] as const
) {
  Deno.test(`a path ${circumstances} → works: ${works}`, async () => {
    const mesh = await meshOf("alice", "bob");
    await mesh.heartbeat("alice", [{ agent_id: "bob", ...path }]);
    const report = present((await mesh.pathBetween("alice", "bob"))?.reported_by_self);
    assert.equal(report.works, works);
    assert.equal(report.via, "via" in path ? path.via : "direct");
  });
}

Deno.test("a report of strangers, of the agent itself, and of a neighbour without a peer → ignored", async () => {
  const mesh = await meshOf("alice", "bob");
  await mesh.register("carol");
  await mesh.put({ from_agent: "alice", to_agent: "not-registered" });
  // Only a request for a rule, because carol has not agreed.
  await mesh.put({ from_agent: "alice", to_agent: "carol" }, await mesh.callerOf("alice"));
  await mesh.heartbeat(
    "alice",
    [
      ...agentNames(60),
      "alice",
      "carol",
      "not-registered",
      "bob",
    ].map((agent_id) => ({ agent_id })),
  );
  const kept = await mesh.owner`select agent_id, other_agent from mesh.path_reports`;
  assert.deepEqual([...kept], [{ agent_id: "alice", other_agent: "bob" }]);
});

Deno.test("another report → replaces what it names; what it leaves out holds for the online window since it was named", async () => {
  const mesh = await meshOf("alice", "bob", "carol");
  await mesh.heartbeat("alice", [{ agent_id: "bob" }, { agent_id: "carol" }]);
  const named = await mesh.pathBetween("alice", "bob");
  await mesh.heartbeat("alice", [{ agent_id: "carol", via: "relay" }]);
  await mesh.heartbeat("alice", []);
  assert.deepEqual(await mesh.pathBetween("alice", "bob"), named);
  assert.deepEqual(
    (await mesh.pathBetween("bob", "alice"))?.reported_by_peer,
    named?.reported_by_self,
  );
  assert.equal((await mesh.pathBetween("alice", "carol"))?.reported_by_self?.via, "relay");
  await mesh.owner`
    update mesh.path_reports set left_out_at = left_out_at - interval '91 seconds'
    where other_agent = 'bob'`;
  assert.deepEqual(await mesh.pathBetween("alice", "bob"), NO_REPORTS);
  assert.deepEqual(await mesh.pathBetween("bob", "alice"), NO_REPORTS);
  assert.equal((await mesh.pathBetween("alice", "carol"))?.reported_by_self?.via, "relay");
});

Deno.test("a host that names its neighbours in turns → all of them are shown, each works since it began", async () => {
  const others = agentNames(6);
  const mesh = await meshOf("alice", ...others);
  const paths = (names: readonly string[]) =>
    names.map((agent_id) => ({ agent_id, handshake_age_seconds: 100 }));
  await mesh.heartbeat("alice", paths(others.slice(0, 3)));
  const first = await mesh.pathBetween("alice", others[0]!);
  await mesh.heartbeat("alice", paths(others.slice(3)));
  await mesh.heartbeat("alice", paths(others.slice(0, 3)));
  for (const other of others) {
    assert.equal((await mesh.pathBetween("alice", other))?.reported_by_self?.works, true, other);
  }
  const again = await mesh.pathBetween("alice", others[0]!);
  assert.equal(again?.reported_by_self?.since, first?.reported_by_self?.since);
  assert.ok(again!.reported_by_self!.reported_at > first!.reported_by_self!.reported_at);
});

Deno.test("a heartbeat without paths → keeps what was reported, as long as the online window", async () => {
  const mesh = await meshOf("alice", "bob");
  await mesh.heartbeat("alice", [{ agent_id: "bob" }]);
  await mesh.heartbeat("alice");
  assert.ok((await mesh.pathBetween("alice", "bob"))?.reported_by_self);
  await age("alice", "91 seconds");
  await mesh.heartbeat("alice");
  assert.deepEqual(await mesh.pathBetween("alice", "bob"), NO_REPORTS);
  assert.deepEqual(await mesh.pathBetween("bob", "alice"), NO_REPORTS);
  assert.ok((await mesh.pathBetween("bob", "alice", 3600))?.reported_by_peer);
});

Deno.test("a report by a request that waits → valid as long as it waits, and not by another one's wait", async () => {
  const mesh = await meshOf("alice", "bob");
  await mesh.heartbeat("alice", [{ agent_id: "bob" }], 140);
  await age("alice", "100 seconds");
  assert.ok((await mesh.pathBetween("alice", "bob"))?.reported_by_self);
  await age("alice", "131 seconds");
  assert.deepEqual(await mesh.pathBetween("alice", "bob"), NO_REPORTS);
  await mesh.heartbeat("alice", undefined, 140);
  assert.deepEqual(await mesh.pathBetween("alice", "bob"), NO_REPORTS);
});

Deno.test("the same paths again, a little later → writes nothing but the heartbeat", async () => {
  const mesh = await meshOf("alice", "bob", "carol", "dave");
  const paths = (later: number) =>
    [
      { agent_id: "bob", handshake_age_seconds: 10 + later },
      { agent_id: "carol", via: "none", handshake_age_seconds: null } as const,
      {
        agent_id: "dave",
        via: "relay",
        endpoint: "198.51.100.9:3478",
        endpoint_ip: "198.51.100.9",
      },
    ] as const;
  await mesh.heartbeat("alice", paths(0));
  const before = await places();
  assert.equal(before.length, 3);
  await mesh.heartbeat("alice", paths(14));
  assert.deepEqual(await places(), before);
  // Only changed rows are written.
  await mesh.heartbeat("alice", paths(40));
  const after = await places();
  assert.notDeepEqual(after[0], before[0]);
  assert.deepEqual(after.slice(1), before.slice(1));
});

Deno.test("a path that goes on working → since stays, through new handshakes and another endpoint", async () => {
  const mesh = await meshOf("alice", "bob");
  await mesh.heartbeat("alice", [{ agent_id: "bob", handshake_age_seconds: 100 }]);
  const { since } = present((await mesh.pathBetween("alice", "bob"))?.reported_by_self);
  await mesh.heartbeat("alice", [{
    agent_id: "bob",
    handshake_age_seconds: 0,
    endpoint: "[2001:db8::7]:4242",
    endpoint_ip: "2001:db8::7",
  }]);
  const later = present((await mesh.pathBetween("alice", "bob"))?.reported_by_self);
  assert.equal(later.since, since);
  assert.equal(later.handshake_age_seconds, 0);
  assert.equal(later.endpoint, "[2001:db8::7]:4242");
});

for (
  const [change, path] of [
    ["goes by another way", { via: "relay" }],
    ["stops working", { via: "none" }],
    ["has no new handshake", { handshake_age_seconds: 200 }],
  ] as const
) {
  Deno.test(`a path that ${change} → since is reset`, async () => {
    const mesh = await meshOf("alice", "bob");
    await mesh.heartbeat("alice", [{ agent_id: "bob", handshake_age_seconds: 100 }]);
    await age("alice", "85 seconds");
    const { since } = present((await mesh.pathBetween("alice", "bob"))?.reported_by_self);
    await mesh.heartbeat("alice", [{ agent_id: "bob", ...path }]);
    const later = present((await mesh.pathBetween("alice", "bob"))?.reported_by_self);
    assert.ok(Date.parse(later.since) > Date.parse(since), `${since} ${later.since}`);
  });
}

Deno.test("a path that was not reported for longer than a session lasts → since is reset", async () => {
  const mesh = await meshOf("alice", "bob");
  await mesh.heartbeat("alice", [{ agent_id: "bob" }]);
  await age("alice", "181 seconds");
  await mesh.heartbeat("alice", [{ agent_id: "bob" }]);
  const report = present((await mesh.pathBetween("alice", "bob"))?.reported_by_self);
  assert.equal(Date.parse(report.reported_at) - Date.parse(report.since), 1000);
});

Deno.test("an endpoint inside the mesh → not kept", async () => {
  const mesh = await meshOf("alice", "bob");
  const inside = { endpoint: "10.213.0.9:51820", endpoint_ip: "10.213.0.9" };
  for (let time = 0; time < 2; time++) {
    await mesh.heartbeat("alice", [{ agent_id: "bob", ...inside }]);
    const report = present((await mesh.pathBetween("alice", "bob"))?.reported_by_self);
    assert.equal(report.endpoint, null);
    assert.equal(report.works, true);
  }
});

Deno.test("reports → no version rises, no event is written", async () => {
  const mesh = await meshOf("alice", "bob");
  const versions = () => mesh.owner`select agent_id, version from mesh.config_versions order by 1`;
  const events = () => mesh.owner`select count(*)::integer as events from agents.events`;
  const before = [await versions(), await events()];
  await mesh.heartbeat("alice", [{ agent_id: "bob" }]);
  await mesh.heartbeat("bob", [{ agent_id: "alice", via: "none" }]);
  assert.deepEqual([await versions(), await events()], before);
});
