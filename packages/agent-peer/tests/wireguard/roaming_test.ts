import assert from "node:assert/strict";
import type { Endpoint } from "../../wireguard/tunnel.ts";
import { echoReply, echoRequest } from "./packets.ts";
import { pairOf, type SimulatedHost, World } from "./simulation.ts";

const ELSEWHERE: Endpoint = { address: "192.0.2.99", port: 4242, via: "udp" };

Deno.test("an authentic packet from another address → answers go there; a forged or repeated one → not", () => {
  const world = new World();
  const { left, right } = pairOf(world);
  left.sendTo(right);
  world.settle();
  const [home] = right.tunnel.stats().map(({ endpoint }) => endpoint);
  const last = world.sent.at(-1)!;
  const forged = last.bytes.slice();
  forged[8] = 99;
  for (const bytes of [forged, last.bytes, world.sent[0]!.bytes]) {
    right.tunnel.receiveDatagram(bytes, ELSEWHERE);
    assert.deepEqual(right.tunnel.stats()[0]!.endpoint, home);
  }
  left.endpoint = ELSEWHERE;
  left.sendTo(right);
  world.settle();
  assert.deepEqual(right.tunnel.stats()[0]!.endpoint, ELSEWHERE);
  right.sendTo(left);
  assert.deepEqual(world.sent.at(-1)!.to, ELSEWHERE);
});

Deno.test("setPeers() with other endpoints → a peer that was heard elsewhere stays there, until it is silent", () => {
  const world = new World();
  const { left, right } = pairOf(world, null);
  left.sendTo(right);
  world.settle();
  const heard = left.tunnel.stats()[0]!.endpoint;
  left.tunnel.setPeers([right.asPeer({ endpoints: [ELSEWHERE] })]);
  // The right host no longer receives at its old endpoint, and the left one does not know.
  world.passes = ({ from, to }) => to !== heard && from !== heard;
  left.sendTo(right);
  assert.deepEqual(world.sent.at(-1)!.to, heard);
  world.advance(16_000);
  const initiation = world.sent.findLast(({ bytes, to }) => bytes[0] === 1 && to === ELSEWHERE);
  assert.notEqual(initiation, undefined);
});

Deno.test("several endpoints → the initiation goes to each; the one that answers is used", () => {
  const world = new World();
  const { left, right } = pairOf(world, null);
  left.tunnel.setPeers([right.asPeer({ endpoints: [ELSEWHERE, right.endpoint] })]);
  left.sendTo(right);
  world.settle();
  assert.deepEqual(world.sent.slice(0, 2).map(({ to }) => to), [ELSEWHERE, right.endpoint]);
  assert.deepEqual(left.tunnel.stats()[0]!.endpoint, right.endpoint);
  assert.deepEqual(right.takeTexts(), ["hello"]);
});

Deno.test("tryEndpoints() that nobody answers → the session goes on; that is answered → used from then on", () => {
  const world = new World();
  const { left, right } = pairOf(world, null);
  left.sendTo(right);
  world.settle();
  right.takeTexts();
  left.tunnel.tryEndpoints(right.publicKey, [ELSEWHERE]);
  for (let second = 0; second < 120; second++) {
    left.sendTo(right);
    world.advance(1000);
  }
  assert.equal(right.takeTexts().length, 120);
  assert.deepEqual(left.tunnel.stats()[0]!.endpoint, right.endpoint);
  // The only other initiation is the one that began the session.
  assert.equal(world.sent.filter(({ bytes, to }) => bytes[0] === 1 && to !== ELSEWHERE).length, 1);
  right.endpoint = { ...right.endpoint, via: "better" };
  left.tunnel.tryEndpoints(right.publicKey, [right.endpoint]);
  left.sendTo(right, "on");
  world.settle();
  assert.deepEqual(left.tunnel.stats()[0]!.endpoint, right.endpoint);
  assert.deepEqual(right.takeTexts(), ["on"]);
});

Deno.test("mayMove() that says no → the packet is delivered, and the endpoint stays", () => {
  const world = new World();
  const left = world.addHost(1);
  const right = world.addHost(2, { mayMove: (_peer, { from }) => from.via !== "worse" });
  left.tunnel.setPeers([right.asPeer()]);
  right.tunnel.setPeers([left.asPeer()]);
  left.sendTo(right);
  world.settle();
  const home = left.endpoint;
  left.endpoint = { ...ELSEWHERE, via: "worse" };
  left.sendTo(right, "from there");
  world.settle();
  assert.deepEqual(right.takeTexts(), ["hello", "from there"]);
  assert.deepEqual(right.tunnel.stats()[0]!.endpoint, home);
});

/** One side pings the other every 10 s, and knows alone where the other one is. */
function pinged({ isAnswered }: { readonly isAnswered: boolean }) {
  const world = new World();
  const left = world.addHost(1);
  const right: SimulatedHost = world.addHost(2, {
    onPacket: (packet) => {
      const reply = isAnswered ? echoReply(packet) : null;
      if (reply !== null) right.tunnel.sendPacket(reply);
    },
  });
  const ping = echoRequest({ source: left.inner, destination: right.inner, sequence: 1 });
  left.tunnel.setPeers([right.asPeer({ persistentKeepaliveSeconds: 10, ping })]);
  const listen = () => right.tunnel.setPeers([left.asPeer({ endpoints: [] })]);
  listen();
  world.advance(60_000);
  return { world, left, right, listen };
}

Deno.test("a peer that has answered pings, and has lost its sessions → another handshake within 15 s", () => {
  const { world, left, right, listen } = pinged({ isAnswered: true });
  right.restart();
  listen();
  const before = left.handshakeAt();
  world.advance(15_000);
  assert.notEqual(left.handshakeAt(), before);
  right.sendTo(left);
  world.settle();
  assert.ok(left.takeTexts().includes("hello"));
});

for (const isAnswered of [true, false]) {
  Deno.test(`pings that are ${isAnswered ? "" : "not "}answered, for ten minutes → no more handshakes than one every two minutes`, () => {
    const { world } = pinged({ isAnswered });
    const initiations = () => world.sent.filter(({ bytes }) => bytes[0] === 1).length;
    const before = initiations();
    world.advance(600_000);
    assert.ok(initiations() - before <= 5, String(initiations() - before));
  });
}
