import assert from "node:assert/strict";
import { Ranks } from "../../paths/peers/ranks.ts";
import type { Endpoint } from "../../wireguard/tunnel.ts";
import { type SimulatedHost, World } from "../wireguard/simulation.ts";

/** Two peers that use a relay. Each sends from `via: "relay"` until the test changes that. */
function relayedPair() {
  const world = new World();
  const { mayMove } = new Ranks();
  const [left, right] = [world.addHost(1, { mayMove }), world.addHost(2, { mayMove })];
  const direct: Record<string, Endpoint> = {
    left: left.endpoint,
    right: right.endpoint,
  };
  for (const host of [left, right]) host.endpoint = { ...host.endpoint, via: "relay" };
  left.tunnel.setPeers([right.asPeer()]);
  right.tunnel.setPeers([left.asPeer()]);
  left.sendTo(right);
  world.settle();
  right.takeTexts();
  assert.deepEqual([viaOf(left), viaOf(right)], ["relay", "relay"]);
  // A second initiation with the same timestamp would be refused as a replay.
  world.advance(100);
  return { world, left, right, direct };
}

function viaOf(host: SimulatedHost): string | undefined {
  return host.tunnel.stats()[0]!.endpoint?.via;
}

/** From now on the host sends this way. */
function by(host: SimulatedHost, via: string): void {
  host.endpoint = { ...host.endpoint, via };
}

Deno.test("a better way answers a handshake → both move to it, and every packet arrives", () => {
  const { world, left, right, direct } = relayedPair();
  by(left, "udp");
  by(right, "udp");
  left.tunnel.tryEndpoints(right.publicKey, [direct.right!]);
  left.sendTo(right, "during");
  right.sendTo(left, "back");
  world.settle();
  assert.deepEqual([viaOf(left), viaOf(right)], ["udp", "udp"]);
  assert.deepEqual([right.takeTexts(), left.takeTexts()], [["during"], ["back"]]);
});

Deno.test("a better way that works in one direction alone → neither moves", () => {
  const { world, left, right, direct } = relayedPair();
  by(left, "udp");
  // The responses take the same way as the initiation, and are lost.
  world.passes = ({ to, from }) => !(to.via === "udp" && from.address === right.endpoint.address);
  left.tunnel.tryEndpoints(right.publicKey, [direct.right!]);
  world.settle();
  by(left, "relay");
  assert.deepEqual([viaOf(left), viaOf(right)], ["relay", "relay"]);
  right.sendTo(left, "still here");
  world.settle();
  assert.deepEqual(left.takeTexts(), ["still here"]);
});

Deno.test("a packet that was under way on the relay → the peer stays on the better way", () => {
  const { world, left, right, direct } = relayedPair();
  by(left, "udp");
  by(right, "udp");
  left.tunnel.tryEndpoints(right.publicKey, [direct.right!]);
  world.settle();
  world.advance(1000);
  by(left, "relay");
  left.sendTo(right, "late");
  world.settle();
  assert.deepEqual([right.takeTexts(), viaOf(right)], [["late"], "udp"]);
});

Deno.test("the better way is lost → a new handshake by the relay moves both back", () => {
  const { world, left, right, direct } = relayedPair();
  by(left, "udp");
  by(right, "udp");
  left.tunnel.tryEndpoints(right.publicKey, [direct.right!]);
  world.settle();
  assert.deepEqual([viaOf(left), viaOf(right)], ["udp", "udp"]);
  world.passes = ({ to }) => to.via !== "udp";
  by(left, "relay");
  by(right, "relay");
  // After 15 s without an answer to this packet, the tunnel knows that the way is lost.
  left.sendTo(right, "lost");
  world.advance(16_000);
  assert.deepEqual([viaOf(left), viaOf(right)], ["relay", "relay"]);
  left.sendTo(right, "found");
  world.settle();
  right.sendTo(left, "too");
  world.settle();
  assert.deepEqual([right.takeTexts().at(-1), left.takeTexts()], ["found", ["too"]]);
});

const RELAY = "203.0.113.1";
const WAYS = {
  direct: { address: "192.0.2.2", port: 1, via: "udp" },
  other: { address: "192.0.2.3", port: 1, via: "udp" },
  relayed: { address: RELAY, port: 50000, via: "udp" },
  byNewest: { address: "192.0.2.2", port: 1, via: "relay-2" },
  byOlder: { address: "192.0.2.2", port: 1, via: "relay-1" },
  byBoth: { address: RELAY, port: 50000, via: "relay-2" },
} as const;

for (
  const [current, from, move, expected] of [
    ["direct", "relayed", { message: "response" }, true],
    ["relayed", "direct", { message: "data" }, true],
    ["relayed", "direct", { message: "initiation" }, false],
    ["direct", "byBoth", { message: "data", silentFor: 100_000 }, false],
    ["direct", "byBoth", { message: "initiation", isNewer: true }, false],
    ["direct", "byBoth", { message: "data", isNewer: true }, true],
    ["byBoth", "byNewest", { message: "data" }, true],
    ["direct", "other", { message: "data", silentFor: 100 }, false],
    ["direct", "other", { message: "data", isNewer: true }, false],
    ["direct", "other", { message: "data", silentFor: 300 }, true],
    ["direct", "other", { message: "initiation", silentFor: 300 }, true],
    ["relayed", "byNewest", { message: "data", silentFor: 300 }, true],
    ["byNewest", "byOlder", { message: "data", silentFor: 300 }, false],
    ["byOlder", "byNewest", { message: "data" }, true],
  ] as const
) {
  Deno.test(`from ${current} to ${from} by ${JSON.stringify(move)} → ${expected ? "moves" : "stays"}`, () => {
    const ranks = new Ranks();
    ranks.relayAddresses = new Set([RELAY]);
    ranks.newestRelay = "relay-2";
    ranks.publicKey = "A";
    const given = {
      current: WAYS[current],
      from: WAYS[from],
      isNewer: false,
      silentFor: 0,
      ...move,
    };
    assert.equal(ranks.mayMove("B", given), expected);
  });
}

Deno.test("two ways that are as good, and each side hears the other on the one it does not use → one side moves first", () => {
  const move = {
    current: WAYS.direct,
    from: WAYS.other,
    message: "data",
    isNewer: false,
    silentFor: 500,
  } as const;
  const [lower, greater] = [new Ranks(), new Ranks()];
  [lower.publicKey, greater.publicKey] = ["A", "B"];
  assert.deepEqual([lower.mayMove("B", move), greater.mayMove("A", move)], [true, false]);
  assert.equal(greater.mayMove("A", { ...move, silentFor: 1000 }), true);
});
