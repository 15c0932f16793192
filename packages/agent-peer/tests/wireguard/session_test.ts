import assert from "node:assert/strict";
import { newKey, pairOf, type SimulatedHost, World } from "./simulation.ts";
import { ReplayWindow, WINDOW_SIZE } from "../../wireguard/session/replay_window.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

function connected() {
  const world = new World();
  const presharedKey = newKey();
  const { left, right } = pairOf(world, presharedKey);
  left.sendTo(right);
  world.settle();
  right.takeTexts();
  return { world, left, right, presharedKey };
}

/** Sends one packet each way every second. Returns how many are lost. */
function exchange(
  world: World,
  { left, right, seconds }: {
    readonly left: SimulatedHost;
    readonly right: SimulatedHost;
    readonly seconds: number;
  },
): number {
  let arrived = 0;
  for (let second = 0; second < seconds; second++) {
    left.sendTo(right);
    right.sendTo(left);
    world.advance(SECOND);
    arrived += left.takeTexts().length + right.takeTexts().length;
  }
  return 2 * seconds - arrived;
}

const initiations = (world: World) => world.sent.filter(({ bytes }) => bytes[0] === 1).length;

Deno.test("ReplayWindow → each counter once, in any order, back to the window's size", () => {
  const window = new ReplayWindow();
  assert.ok(WINDOW_SIZE >= 2048);
  const order = [
    0,
    5,
    3,
    31,
    32,
    33,
    1,
    WINDOW_SIZE,
    2 ** 33,
    2 ** 33 - WINDOW_SIZE + 1,
    2 ** 53 - 1,
  ];
  for (const counter of order) {
    assert.equal(window.accept(counter), true, String(counter));
    assert.equal(window.accept(counter), false, String(counter));
  }
  assert.equal(window.accept(2 ** 33), false, "too old");
});

Deno.test("ReplayWindow that moves word by word, and by more than itself → as a set would have it", () => {
  const window = new ReplayWindow();
  const seen = new Set<number>();
  let newest = 0;
  for (let step = 0; step < 30_000; step++) {
    const counter = Math.max(0, newest + (step * 7919) % 600 - 500 + (step % 997 === 0 ? 9000 : 0));
    newest = Math.max(newest, counter);
    const isNew = !seen.has(counter) && newest - counter < WINDOW_SIZE;
    assert.equal(window.accept(counter), isNew, `step ${step}, counter ${counter}`);
    seen.add(counter);
  }
});

Deno.test("an hour of packets both ways → a new session every two minutes, and none is lost", () => {
  const { world, left, right } = connected();
  assert.equal(exchange(world, { left, right, seconds: 3600 }), 0);
  const count = initiations(world);
  assert.ok(count >= 28 && count <= 31, String(count));
});

Deno.test("an hour of packets one way, the other side began → none is lost", () => {
  const { world, left, right } = connected();
  let lost = 0;
  for (let second = 0; second < 3600; second++) {
    right.sendTo(left);
    world.advance(SECOND);
    lost += 1 - left.takeTexts().length;
  }
  assert.equal(lost, 0);
});

Deno.test("a PSK that changes on both sides under traffic, one after the other → nothing is lost", () => {
  const { world, left, right } = connected();
  for (let round = 0; round < 5; round++) {
    const presharedKey = newKey();
    left.tunnel.setPeers([right.asPeer({ presharedKey })]);
    const apart = exchange(world, { left, right, seconds: 40 });
    right.tunnel.setPeers([left.asPeer({ presharedKey })]);
    assert.equal(apart + exchange(world, { left, right, seconds: 137 }), 0);
  }
});

Deno.test("a PSK that changes on one side alone → the session ends with its keys, not before", () => {
  const { world, left, right } = connected();
  left.tunnel.setPeers([right.asPeer({ presharedKey: newKey() })]);
  assert.equal(exchange(world, { left, right, seconds: 175 }), 0);
  assert.ok(exchange(world, { left, right, seconds: 10 }) > 0);
});

Deno.test("a datagram that is sent again → delivered once", () => {
  const { world, left, right } = connected();
  left.sendTo(right, "once");
  world.settle();
  const copies = world.sent.filter(({ bytes }) => bytes[0] === 4);
  for (const { bytes, from } of copies) right.tunnel.receiveDatagram(bytes, from);
  assert.deepEqual(right.takeTexts(), ["once"]);
});

Deno.test("a peer that is removed → its packets are refused at once, and nothing is sent to it", () => {
  const { world, left, right } = connected();
  right.tunnel.setPeers([]);
  left.sendTo(right);
  world.settle();
  assert.deepEqual(right.takeTexts(), []);
  const count = world.sent.length;
  assert.equal(right.sendTo(left), false);
  world.advance(SECOND);
  assert.equal(world.sent.slice(count).filter(({ from }) => from === right.endpoint).length, 0);
});

Deno.test("a machine that sleeps for hours → one handshake later its packets arrive again", () => {
  const { world, left, right } = connected();
  world.sleep(5 * HOUR);
  left.sendTo(right, "after the night");
  world.settle();
  assert.deepEqual(right.takeTexts(), ["after the night"]);
  right.sendTo(left, "good morning");
  world.settle();
  assert.deepEqual(left.takeTexts(), ["good morning"]);
});

Deno.test("a sleep until all duties are late, whose keys are to be forgotten → one initiation, and its answer counts", () => {
  for (const isUnderWay of [false, true]) {
    const { world, left, right, presharedKey } = connected();
    left.tunnel.setPeers([right.asPeer({ presharedKey, persistentKeepaliveSeconds: 25 })]);
    world.advance(MINUTE);
    if (isUnderWay) {
      world.passes = () => false;
      world.advance(10 * MINUTE);
      world.passes = () => true;
    }
    world.sleep(5 * HOUR);
    const [count, handshakeAt] = [initiations(world), left.handshakeAt()];
    world.advance(SECOND);
    assert.equal(initiations(world) - count, 1);
    assert.ok(left.handshakeAt()! > handshakeAt! + 5 * HOUR, `${isUnderWay}`);
    right.sendTo(left, "good morning");
    world.settle();
    assert.deepEqual(left.takeTexts(), ["good morning"]);
    assert.equal(initiations(world) - count, 1);
  }
});

Deno.test("a packet after such a sleep, before the late duties → the answer to its initiation counts", () => {
  const { world, left, right } = connected();
  world.sleep(5 * HOUR);
  // Nothing arrives while the late timers run.
  world.passes = () => false;
  const count = world.sent.length;
  left.sendTo(right, "after the night");
  world.advance(SECOND);
  world.passes = () => true;
  const underWay = world.sent.slice(count).filter(({ from }) => from === left.endpoint);
  assert.deepEqual(underWay.map(({ bytes }) => bytes[0]), [1]);
  const [initiation] = underWay;
  right.tunnel.receiveDatagram(initiation!.bytes, initiation!.from);
  world.settle();
  assert.deepEqual(right.takeTexts(), ["after the night"]);
});

Deno.test("a restart with the same key, of either side → the other's packets arrive again", () => {
  const { world, left, right } = connected();
  const presharedKey = newKey();
  left.tunnel.setPeers([right.asPeer({ presharedKey })]);
  right.restart();
  right.tunnel.setPeers([left.asPeer({ presharedKey })]);
  // The restarted host sends first: its packet arrives at once.
  right.sendTo(left, "back");
  world.settle();
  assert.deepEqual(left.takeTexts(), ["back"]);
  left.restart();
  left.tunnel.setPeers([right.asPeer({ presharedKey })]);
  // The other host sends first: after 15 s without an answer, it starts a new handshake.
  const lost = exchange(world, { left: right, right: left, seconds: 60 });
  assert.ok(lost <= 2 * 17, String(lost));
  assert.equal(exchange(world, { left, right, seconds: 10 }), 0);
});

Deno.test("data without an answer → a keepalive after 10 s, and no new handshake", () => {
  const { world, left, right } = connected();
  world.advance(30 * SECOND);
  const count = world.sent.length;
  left.sendTo(right);
  world.advance(30 * SECOND);
  const later = world.sent.slice(count);
  assert.deepEqual(later.map(({ bytes }) => bytes[0]), [4, 4]);
  assert.equal(later[1]!.bytes.length, 32);
  assert.deepEqual(later[1]!.from, right.endpoint);
});

Deno.test("persistentKeepaliveSeconds → a handshake at once, then a datagram every so often", () => {
  const world = new World();
  const { left, right } = pairOf(world, null);
  left.tunnel.setPeers([right.asPeer({ persistentKeepaliveSeconds: 25 })]);
  world.advance(SECOND);
  assert.notEqual(left.handshakeAt(), null);
  const count = world.sent.length;
  world.advance(100 * SECOND);
  assert.equal(world.sent.length - count, 4);
});

Deno.test("persistentKeepaliveSeconds on both sides → each sends a datagram every so often, whatever it receives: its router counts only what goes out", () => {
  const world = new World();
  const { left, right } = pairOf(world, null);
  left.tunnel.setPeers([right.asPeer({ persistentKeepaliveSeconds: 25 })]);
  world.advance(10 * SECOND);
  right.tunnel.setPeers([left.asPeer({ persistentKeepaliveSeconds: 25 })]);
  world.advance(SECOND);
  const count = world.sent.length;
  world.advance(100 * SECOND);
  for (const side of [left, right]) {
    const sent = world.sent.slice(count).filter(({ from }) => from === side.endpoint);
    assert.equal(sent.length, 4);
  }
});

Deno.test("nobody speaks for nine minutes → the keys are forgotten", () => {
  const { world, left, right } = connected();
  const [, , data] = world.sent;
  world.advance(10 * MINUTE);
  right.tunnel.receiveDatagram(data!.bytes, data!.from);
  assert.deepEqual(right.takeTexts(), []);
  left.sendTo(right);
  world.settle();
  assert.deepEqual(right.takeTexts(), ["hello"]);
});

Deno.test("close() → nothing is sent or delivered any more, and no timer is left", () => {
  const { world, left, right } = connected();
  left.tunnel.close();
  right.sendTo(left);
  const count = world.sent.length;
  world.advance(5 * MINUTE);
  assert.deepEqual(left.takeTexts(), []);
  assert.equal(left.sendTo(right), false);
  assert.equal(world.sent.slice(count).filter(({ from }) => from === left.endpoint).length, 0);
});

Deno.test("stats() → the handshake, the endpoint, and as many bytes as were sent", () => {
  const { world, left, right } = connected();
  const [stats] = right.tunnel.stats();
  assert.deepEqual(stats!.endpoint, left.endpoint);
  assert.equal(stats!.publicKey, left.publicKey);
  assert.equal(stats!.handshakeAt, world.now);
  const [bytes] = left.tunnel.stats().map(({ sentBytes }) => sentBytes);
  assert.equal(stats!.receivedBytes, bytes);
});
