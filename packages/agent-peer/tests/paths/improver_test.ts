import assert from "node:assert/strict";
import { Improver } from "../../paths/peers/improver.ts";
import { Ranks } from "../../paths/peers/ranks.ts";
import type { Endpoint, PeerStats } from "../../wireguard/tunnel.ts";
import { World } from "../wireguard/simulation.ts";

const DIRECT: Endpoint = { address: "192.0.2.2", port: 1, via: "udp" };
const RELAYED: Endpoint = { ...DIRECT, via: "relay-1" };
const NEWER: Endpoint = { ...DIRECT, via: "relay-2" };

/** An improver whose tunnel has one peer, `M`. */
function improve({ own = "A", endpoint = RELAYED as Endpoint | null } = {}) {
  const world = new World();
  const tried: { readonly second: number; readonly ways: readonly string[] }[] = [];
  const state = {
    endpoint,
    relays: ["relay-1"],
    isUdpBlocked: false,
    handshakeAt: null as number | null,
    /** The second of the first packet that is still unanswered. */
    unansweredSince: null as number | null,
    /** The second in which the peer was last heard; null: just now. */
    heardAt: null as number | null,
  };
  const improver = new Improver({
    surroundings: world.surroundings,
    ranks: new Ranks(),
    relays: () => state.relays,
    isUdpBlocked: () => state.isUdpBlocked,
  });
  /** By default the last handshake has just ended. */
  const handshakeAt = () => state.handshakeAt ?? world.now;
  const stats = (): PeerStats[] => [{
    publicKey: "M",
    endpoint: state.endpoint,
    handshakeAt: state.endpoint && handshakeAt(),
    receivedBytes: 0,
    sentBytes: 0,
    unansweredFor: state.unansweredSince === null ? null : world.now - state.unansweredSince * 1000,
    silentFor: state.heardAt === null ? 0 : world.now - state.heardAt * 1000,
  }];
  const tunnel = {
    publicKey: own,
    stats,
    tryEndpoints: (_peer: string, ways: readonly Endpoint[]) =>
      void tried.push({ second: world.now / 1000, ways: ways.map(({ via }) => via) }),
  };
  improver.setCandidates(new Map([["M", [DIRECT, RELAYED]]]));
  function run(seconds: number): void {
    for (let second = 0; second < seconds; second++) {
      improver.run(tunnel);
      world.advance(1000);
    }
  }
  return { world, improver, tunnel, state, tried, run };
}

Deno.test("a peer by a relay → direct ways are tried at once, and then less and less often", () => {
  const { tried, run } = improve();
  run(3600);
  assert.deepEqual(tried[0], { second: 0, ways: ["udp"] });
  const gaps = tried.slice(1).map(({ second }, index) => second - tried[index]!.second);
  assert.ok(tried.length > 8 && tried.length < 20, `${tried.length} tries`);
  assert.ok(gaps[0]! <= 4 && gaps.at(-1)! >= 300, gaps.join());
});

Deno.test("both sides of a pair → not at one moment, but within the 30 s that routers remember", () => {
  const [lower, greater] = [improve({ own: "A" }), improve({ own: "Z" })];
  lower.run(3600);
  greater.run(3600);
  assert.equal(lower.tried.length, greater.tried.length);
  for (const [index, { second }] of lower.tried.entries()) {
    const gap = greater.tried[index]!.second - second;
    assert.ok(gap >= 2 && gap <= 4, `try ${index}: ${gap} s`);
  }
});

Deno.test("a direct peer → nothing is tried", () => {
  const { tried, run } = improve({ endpoint: DIRECT });
  run(3600);
  assert.deepEqual(tried, []);
});

Deno.test("UDP is blocked → no direct way is tried, until it is not blocked any more", () => {
  const { state, tried, run } = improve();
  state.isUdpBlocked = true;
  run(3600);
  assert.deepEqual(tried, []);
  state.isUdpBlocked = false;
  run(1);
  assert.deepEqual(tried.map(({ ways }) => ways), [["udp"]]);
});

Deno.test("the relay of a peer is lost → all ways at once", () => {
  const { state, tried, run } = improve();
  state.isUdpBlocked = true;
  run(10);
  state.relays = [];
  run(1);
  assert.deepEqual(tried, [{ second: 10, ways: ["udp", "relay-1"] }]);
});

Deno.test("a newer relay → the peer is led there, and the older one is left", () => {
  const { improver, state, tried, run } = improve();
  state.isUdpBlocked = true;
  run(10);
  state.relays = ["relay-2", "relay-1"];
  improver.setCandidates(new Map([["M", [DIRECT, NEWER]]]));
  run(1);
  assert.deepEqual(tried, [{ second: 10, ways: ["relay-2"] }]);
  state.endpoint = NEWER;
  run(100);
  assert.equal(tried.length, 1);
});

Deno.test("a peer without a session → two tries besides the tunnel's own, and more only for other candidates", () => {
  const { improver, tried, run } = improve({ endpoint: null });
  run(600);
  assert.deepEqual(tried.map(({ second }) => second), [2, 5]);
  improver.setCandidates(new Map([["M", [DIRECT, RELAYED]]]));
  run(600);
  assert.equal(tried.length, 2);
  improver.setCandidates(new Map([["M", [DIRECT]]]));
  run(600);
  assert.equal(tried.length, 4);
});

Deno.test("another network → all ways, until a handshake shows which one works", () => {
  const { improver, tunnel, state, tried, run } = improve({ endpoint: DIRECT });
  state.handshakeAt = 0;
  improver.restart(tunnel);
  assert.deepEqual(tried, [{ second: 0, ways: ["udp", "relay-1"] }]);
  run(10);
  assert.ok(tried.length > 1);
  assert.deepEqual(tried.at(-1)!.ways, ["udp", "relay-1"]);
  const before = tried.length;
  state.handshakeAt = null;
  run(100);
  assert.equal(tried.length, before);
});

for (
  const { own, seconds } of [{ own: "A", seconds: [14, 16, 19, 22] }, {
    own: "Z",
    seconds: [15, 17, 20, 23],
  }]
) {
  Deno.test(`packets to a direct peer without any answer, seen by ${own} → the way in use, then all, before the tunnel does it`, () => {
    const { state, tried, run } = improve({ own, endpoint: DIRECT });
    run(10);
    state.unansweredSince = 10;
    run(60);
    assert.deepEqual(tried.map(({ second }) => second), seconds);
    assert.deepEqual(tried.map(({ ways }) => ways), [
      ["udp"],
      ...Array(3).fill(["udp", "relay-1"]),
    ]);
  });
}

Deno.test("a direct peer that sends no more keepalives → the way in use after 56 s, then all", () => {
  const { state, tried, run } = improve({ endpoint: DIRECT });
  state.heardAt = 0;
  run(170);
  assert.deepEqual(tried.map(({ second }) => second), [56, 58, 61, 64]);
  assert.deepEqual(tried.map(({ ways }) => ways), [
    ["udp"],
    ...Array(3).fill(["udp", "relay-1"]),
  ]);
});

Deno.test("a direct peer registers another endpoint, and is no more at a registered one → the new one is tried three times", () => {
  const { improver, tried, run } = improve({ endpoint: DIRECT });
  const moved = { ...DIRECT, address: "192.0.2.3" };
  improver.setCandidates(new Map([["M", [moved, { ...RELAYED, address: moved.address }]]]));
  run(600);
  assert.deepEqual(tried.map(({ second }) => second), [0, 4, 8]);
  assert.deepEqual(tried.map(({ ways }) => ways), Array(3).fill(["udp"]));
});

Deno.test("a direct peer registers one more endpoint → nothing is tried: it is still at a registered one", () => {
  const { improver, tried, run } = improve({ endpoint: DIRECT });
  improver.setCandidates(
    new Map([["M", [DIRECT, { ...DIRECT, address: "192.0.2.3" }, RELAYED]]]),
  );
  run(600);
  assert.deepEqual(tried, []);
});

Deno.test("a direct peer that answers again → nothing more is tried, until it is silent again", () => {
  const { state, tried, run } = improve({ endpoint: DIRECT });
  state.unansweredSince = 0;
  run(5);
  state.unansweredSince = null;
  run(100);
  assert.deepEqual(tried, [{ second: 4, ways: ["udp"] }]);
  state.unansweredSince = 105;
  run(6);
  assert.deepEqual(tried.slice(1), [{ second: 109, ways: ["udp"] }]);
});

Deno.test("the wall clock is set back by an hour → the same tries at the same times", () => {
  for (const endpoint of [RELAYED, null]) {
    const [still, changed] = [improve({ endpoint }), improve({ endpoint })];
    still.run(100);
    changed.run(3);
    changed.world.setClock(-3_600_000);
    changed.run(97);
    assert.ok(still.tried.length > 1);
    assert.deepEqual(changed.tried, still.tried);
  }
});
