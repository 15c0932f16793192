import assert from "node:assert/strict";
import { CookieJar } from "../../wireguard/handshake/cookies.ts";
import { Load } from "../../wireguard/handshake/load.ts";
import { parseKey } from "../../wireguard/key.ts";
import { type Endpoint, Tunnel } from "../../wireguard/tunnel.ts";
import { pairOf, type SimulatedHost, World } from "./simulation.ts";

const STRANGER: Endpoint = { address: "192.0.2.200", port: 9, via: "udp" };

/** Sends initiations with a valid first MAC from unknown keys. */
function flood(world: World, { at, count }: { at: SimulatedHost; count: number }): number {
  const sent = world.sent.length;
  const { surroundings } = world;
  for (let number = 0; number < count; number++) {
    const attacker = new Tunnel({
      privateKey: surroundings.randomBytes(32),
      surroundings,
      send: (bytes) => at.tunnel.receiveDatagram(bytes, STRANGER),
      onPacket: () => {},
    });
    attacker.setPeers([at.asPeer({ persistentKeepaliveSeconds: 1 })]);
    attacker.tryEndpoints(at.publicKey, [at.endpoint]);
    attacker.close();
  }
  return world.sent.length - sent;
}

Deno.test("a flood of initiations → cookie replies after the first 50, and a peer gets through with one", () => {
  const world = new World();
  const { left, right } = pairOf(world);
  const answers = flood(world, { at: right, count: 80 });
  assert.equal(answers, 30);
  assert.deepEqual(new Set(world.sent.map(({ bytes }) => bytes[0])), new Set([3]));
  left.sendTo(right, "through");
  world.settle();
  assert.deepEqual(right.takeTexts(), [], "it has no cookie yet");
  const cookie = world.sent.at(-1)!;
  assert.deepEqual([cookie.bytes[0], cookie.bytes.length, cookie.to], [3, 64, left.endpoint]);
  for (let second = 0; second < 6; second++) {
    flood(world, { at: right, count: 60 });
    world.advance(1000);
  }
  assert.deepEqual(right.takeTexts(), ["through"]);
});

Deno.test("a forged cookie reply → ignored: the next initiation has no second MAC", () => {
  const world = new World();
  const { left, right } = pairOf(world);
  world.passes = ({ bytes }) => bytes[0] !== 3;
  flood(world, { at: right, count: 60 });
  left.sendTo(right);
  world.settle();
  const reply = world.sent.at(-1)!;
  assert.equal(reply.bytes[0], 3);
  const forged = reply.bytes.slice();
  forged[40] = forged[40]! ^ 1;
  left.tunnel.receiveDatagram(forged, right.endpoint);
  const secondMac = () => world.sent.findLast(({ bytes }) => bytes[0] === 1)!.bytes.subarray(132);
  left.tunnel.tryEndpoints(right.publicKey, [right.endpoint]);
  assert.deepEqual(secondMac(), new Uint8Array(16));
  world.settle();
  left.tunnel.receiveDatagram(world.sent.at(-1)!.bytes, right.endpoint);
  left.tunnel.tryEndpoints(right.publicKey, [right.endpoint]);
  assert.notDeepEqual(secondMac(), new Uint8Array(16));
});

Deno.test("an initiation with the cookie of another address → a cookie reply in place of an answer", () => {
  const world = new World();
  const { left, right } = pairOf(world);
  flood(world, { at: right, count: 60 });
  left.sendTo(right);
  world.settle();
  world.passes = () => false;
  left.tunnel.tryEndpoints(right.publicKey, [right.endpoint]);
  const { bytes } = world.sent.at(-1)!;
  right.tunnel.receiveDatagram(bytes, STRANGER);
  const reply = world.sent.at(-1)!;
  assert.deepEqual([reply.bytes[0], reply.to], [3, STRANGER]);
  right.tunnel.receiveDatagram(bytes, left.endpoint);
  assert.equal(world.sent.at(-1)!.bytes[0], 2);
});

Deno.test("a handshake message with a wrong first MAC → no answer of any kind, under load or not", () => {
  const world = new World();
  const { left, right } = pairOf(world);
  world.passes = () => false;
  left.sendTo(right);
  const initiation = world.sent[0]!.bytes.slice();
  initiation[147 - 16] = initiation[147 - 16]! ^ 1;
  const count = world.sent.length;
  for (let copy = 0; copy < 100; copy++) right.tunnel.receiveDatagram(initiation, left.endpoint);
  assert.equal(world.sent.length, count);
});

Deno.test("Load → high beyond 50 a second, for a second; then an address may have a burst of 5", () => {
  const load = new Load();
  const high = Array.from({ length: 60 }, () => load.isHigh(0));
  assert.equal(high.indexOf(true), 50);
  assert.equal(load.isHigh(999), true);
  assert.equal(load.isHigh(5000), false);
  const admitted = Array.from({ length: 8 }, () => load.admits("192.0.2.1", 0)).filter(Boolean);
  assert.equal(admitted.length, 5);
  assert.equal(load.admits("192.0.2.2", 0), true);
  assert.equal(load.admits("192.0.2.1", 50), true);
  assert.equal(load.admits("192.0.2.1", 50), false);
});

Deno.test("Load with more addresses than it keeps → new ones are refused until old ones are stale", () => {
  const load = new Load();
  const admits = (number: number, now: number) => load.admits(`address ${number}`, now);
  for (let number = 0; number < 4096; number++) assert.equal(admits(number, 0), true);
  assert.equal(admits(5000, 10), false);
  assert.equal(admits(5000, 2000), true);
});

Deno.test("a machine that wakes up, with a minute of old initiations in its socket → its own handshake ends at once", () => {
  const world = new World();
  const { left, right } = pairOf(world);
  world.passes = ({ to }) => to !== left.endpoint;
  for (let count = 0; count < 80; count++) {
    right.tunnel.tryEndpoints(left.publicKey, [left.endpoint]);
    world.advance(500);
  }
  const old = world.sent.filter(({ to }) => to === left.endpoint);
  assert.ok(old.length >= 80);
  world.passes = () => true;
  left.sendTo(right, "awake");
  for (const { bytes, from } of old) left.tunnel.receiveDatagram(bytes, from);
  world.settle();
  assert.deepEqual(right.takeTexts(), ["awake"]);
});

Deno.test("forged responses to a handshake, under load → a few are worth their work, then cookies are asked for", () => {
  const world = new World();
  const { left, right } = pairOf(world);
  flood(world, { at: left, count: 60 });
  world.passes = () => false;
  left.tunnel.tryEndpoints(right.publicKey, [right.endpoint]);
  const initiation = world.sent.at(-1)!;
  right.tunnel.receiveDatagram(initiation.bytes, left.endpoint);
  const response = world.sent.at(-1)!.bytes;
  assert.equal(response[0], 2);
  const before = world.sent.length;
  // Anyone who has seen the initiation can forge this: only the encrypted part is wrong.
  const forged = response.slice();
  forged[44] = forged[44]! ^ 1;
  new CookieJar(parseKey(left.publicKey)).stamp(forged, world.now);
  for (let count = 0; count < 10; count++) left.tunnel.receiveDatagram(forged, right.endpoint);
  assert.equal(world.sent.length - before, 6, "cookie replies");
  assert.equal(left.handshakeAt(), null);
});
