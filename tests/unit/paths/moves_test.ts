import assert from "node:assert/strict";
import { Ranks } from "../../../clients/typescript/src/mesh/paths/peers/ranks.ts";
import type { Endpoint } from "../../../clients/typescript/src/mesh/wireguard/tunnel.ts";
import { type SimulatedHost, World } from "../tunnel/simulation.ts";

/** Two peers on a relay: each sends from `via: "relay"`, until a test lets one send directly. */
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
  // Two initiations at one moment would be a replay.
  world.advance(100);
  return { world, left, right, direct };
}

function viaOf(host: SimulatedHost): string | undefined {
  return host.tunnel.stats()[0]!.endpoint?.via;
}

/** From now on the host sends by that way. */
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
  // Answers go back by the way of the initiation, and get lost.
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
  // What this loses tells it after 15 s that the way is lost.
  left.sendTo(right, "lost");
  world.advance(16_000);
  assert.deepEqual([viaOf(left), viaOf(right)], ["relay", "relay"]);
  left.sendTo(right, "found");
  world.settle();
  right.sendTo(left, "too");
  world.settle();
  assert.deepEqual([right.takeTexts().at(-1), left.takeTexts()], ["found", ["too"]]);
});
