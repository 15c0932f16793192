import assert from "node:assert/strict";
import { formatKey } from "../../wireguard/key.ts";
import { newKey, pairOf, World } from "./simulation.ts";

const SECOND = 1000;
const typesOf = (world: World) => world.sent.map(({ bytes }) => bytes[0]);

Deno.test("sendPacket() without a session → one handshake, then the packet, once", () => {
  const world = new World();
  const { left, right } = pairOf(world);
  assert.equal(left.sendTo(right, "first"), true);
  world.settle();
  assert.deepEqual(right.takeTexts(), ["first"]);
  assert.deepEqual(typesOf(world), [1, 2, 4]);
  right.sendTo(left, "answer");
  world.settle();
  assert.deepEqual(left.takeTexts(), ["answer"]);
  assert.deepEqual(typesOf(world), [1, 2, 4, 4]);
});

Deno.test("sendPacket() to an address of no peer, or of what is no packet → false, nothing sent", () => {
  const world = new World();
  const { left } = pairOf(world);
  const stranger = world.addHost(3);
  assert.equal(left.sendTo(stranger), false);
  assert.equal(left.tunnel.sendPacket(new Uint8Array(10)), false);
  assert.deepEqual(world.sent, []);
});

for (
  const [what, leftKey, rightKey] of [
    ["two PSKs", newKey(), newKey()],
    ["a PSK on one side alone", newKey(), null],
  ] as const
) {
  Deno.test(`a handshake with ${what} → no session, no packet, tried again every 5 s, then given up`, () => {
    const world = new World();
    const { left, right } = pairOf(world);
    left.tunnel.setPeers([right.asPeer({ presharedKey: leftKey })]);
    right.tunnel.setPeers([left.asPeer({ presharedKey: rightKey })]);
    left.sendTo(right);
    world.advance(200 * SECOND);
    assert.deepEqual(right.takeTexts(), []);
    assert.equal(left.handshakeAt(), null);
    // The first one, and one every five seconds for 90 seconds.
    assert.equal(typesOf(world).filter((type) => type === 1).length, 19);
    assert.deepEqual(new Set(typesOf(world)), new Set([1, 2]));
  });
}

Deno.test("a packet while nobody answers → the queue's newest 128 arrive when somebody does", () => {
  const world = new World();
  const { left, right } = pairOf(world);
  world.passes = () => false;
  for (let count = 0; count < 200; count++) left.sendTo(right, `packet ${count}`);
  world.passes = () => true;
  world.advance(6 * SECOND);
  const texts = right.takeTexts();
  assert.deepEqual([texts.length, texts[0], texts.at(-1)], [128, "packet 72", "packet 199"]);
});

Deno.test("a response that was changed on the way → refused; the true one still makes a session", () => {
  const world = new World();
  const { left, right } = pairOf(world);
  world.passes = ({ bytes, from, to }) => {
    if (bytes[0] !== 2) return true;
    for (const at of [12, 44, 59]) {
      const forged = bytes.slice();
      forged[at] = forged[at]! ^ 0x40;
      left.tunnel.receiveDatagram(forged, from);
    }
    assert.equal(left.handshakeAt(), null);
    assert.equal(to.address, left.endpoint.address);
    return true;
  };
  left.sendTo(right);
  world.settle();
  assert.deepEqual(right.takeTexts(), ["hello"]);
  assert.notEqual(left.handshakeAt(), null);
});

Deno.test("an initiation that is sent again, or is older → no answer, and the session stays", () => {
  const world = new World();
  const { left, right } = pairOf(world);
  world.passes = () => false;
  left.sendTo(right);
  world.advance(6 * SECOND);
  const [older, newer] = world.sent;
  world.passes = () => true;
  world.advance(6 * SECOND);
  assert.deepEqual(right.takeTexts(), ["hello"]);
  const count = world.sent.length;
  for (const { bytes, from } of [older!, newer!]) right.tunnel.receiveDatagram(bytes, from);
  world.settle();
  assert.equal(world.sent.length, count);
  left.sendTo(right, "still there");
  world.settle();
  assert.deepEqual(right.takeTexts(), ["still there"]);
});

Deno.test("an initiation of a peer that was removed and added since → still no answer when repeated", () => {
  const world = new World();
  const { left, right } = pairOf(world);
  left.sendTo(right);
  world.settle();
  const [initiation] = world.sent;
  const [peer] = [left.asPeer()];
  right.tunnel.setPeers([]);
  right.tunnel.setPeers([peer]);
  const count = world.sent.length;
  world.advance(SECOND);
  right.tunnel.receiveDatagram(initiation!.bytes, initiation!.from);
  assert.equal(world.sent.length, count);
});

Deno.test("an initiation by a key that is no peer → no answer", () => {
  const world = new World();
  const { left, right } = pairOf(world);
  right.tunnel.setPeers([]);
  left.sendTo(right);
  world.advance(20 * SECOND);
  assert.deepEqual(new Set(typesOf(world)), new Set([1]));
});

Deno.test("both sides begin at once → both ways work, and nothing is lost", () => {
  const world = new World();
  const { left, right } = pairOf(world);
  left.sendTo(right, "from left");
  right.sendTo(left, "from right");
  world.settle();
  assert.deepEqual([left.takeTexts(), right.takeTexts()], [["from right"], ["from left"]]);
  for (let round = 0; round < 400; round++) {
    left.sendTo(right, `${round}`);
    right.sendTo(left, `${round}`);
    world.advance(SECOND);
    assert.deepEqual([left.takeTexts(), right.takeTexts()], [[`${round}`], [`${round}`]]);
  }
});

Deno.test("setPeers() with a malformed key or network → RangeError without the key, nothing changed", () => {
  const world = new World();
  const { left, right } = pairOf(world);
  const secret = newKey().slice(0, 40);
  for (
    const changes of [
      { presharedKey: secret },
      { publicKey: `${right.publicKey.slice(0, 42)}B=` },
      { allowedIps: ["10.0.0.300/32"] },
      { allowedIps: ["10.0.0.0/33"] },
    ]
  ) {
    assert.throws(
      () => left.tunnel.setPeers([right.asPeer(changes)]),
      (error) => error instanceof RangeError && !String(error.stack).includes(secret),
    );
  }
  left.sendTo(right);
  world.settle();
  assert.deepEqual(right.takeTexts(), ["hello"]);
});

Deno.test("setPeers() with this side's own key, or one of low order → left out, others work", () => {
  const world = new World();
  const { left, right } = pairOf(world, null);
  left.tunnel.setPeers([
    right.asPeer({ publicKey: left.publicKey, allowedIps: ["10.0.0.8/32"] }),
    right.asPeer({ publicKey: formatKey(new Uint8Array(32)), allowedIps: ["10.0.0.9/32"] }),
    right.asPeer(),
  ]);
  assert.deepEqual(left.tunnel.stats().map(({ publicKey }) => publicKey), [right.publicKey]);
  left.sendTo(right);
  world.settle();
  assert.deepEqual(right.takeTexts(), ["hello"]);
});
