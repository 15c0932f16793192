import assert from "node:assert/strict";
import fc from "fast-check";
import { parseMessage } from "../../wireguard/handshake/messages.ts";
import { HostilePeer } from "./hostile_peer.ts";
import { ipv4Packet, ipv6Packet } from "./packets.ts";
import { pairOf, type SimulatedHost, World } from "./simulation.ts";

/** How a datagram is changed on its way. */
const change = fc.oneof(
  fc.record({
    kind: fc.constant("flip" as const),
    at: fc.nat(1500),
    mask: fc.integer({ min: 1, max: 255 }),
  }),
  fc.record({ kind: fc.constant("cut" as const), at: fc.nat(200), mask: fc.constant(0) }),
  fc.record({ kind: fc.constant("append" as const), at: fc.nat(40), mask: fc.nat(255) }),
);

type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never;

function changed(bytes: Uint8Array, { kind, at, mask }: Change): Uint8Array {
  if (kind === "cut") return bytes.slice(0, at % bytes.length);
  if (kind === "append") return Uint8Array.from([...bytes, ...Array(at + 1).fill(mask)]);
  const result = bytes.slice();
  // The second MAC (the last 16 bytes) is checked only under load.
  const end = bytes[0] === 1 || bytes[0] === 2 ? result.length - 16 : result.length;
  result[at % end] = result[at % end]! ^ mask;
  return result;
}

const stateOf = ({ tunnel }: SimulatedHost) => JSON.stringify(tunnel.stats());

/** One valid datagram of each of the four kinds. */
function validDatagrams() {
  const world = new World();
  const { left, right } = pairOf(world);
  left.sendTo(right);
  world.settle();
  left.sendTo(right, "kept back");
  const [initiation, response] = world.sent.map(({ bytes }) => bytes);
  world.passes = () => false;
  world.settle();
  right.takeTexts();
  left.sendTo(right, "data");
  const data = world.sent.at(-1)!.bytes;
  world.advance(1000);
  left.tunnel.tryEndpoints(right.publicKey, [right.endpoint]);
  const fresh = world.sent.at(-1)!.bytes;
  const cookie = new Uint8Array(64).fill(7);
  cookie.set([3, 0, 0, 0, ...fresh.subarray(4, 8)]);
  return { world, left, right, valid: [data, fresh, initiation!, response!, cookie] };
}

Deno.test("any bytes as a datagram → nothing thrown, sent, delivered or changed", () => {
  const { world, left, right } = validDatagrams();
  const before = [stateOf(left), stateOf(right), world.sent.length];
  const type = fc.constantFrom(0, 1, 2, 3, 4, 5, 255);
  const datagrams = fc.tuple(type, fc.uint8Array({ maxLength: 200 })).map(([first, rest]) =>
    Uint8Array.from([first, 0, 0, 0, ...rest])
  );
  fc.assert(
    fc.property(fc.oneof(datagrams, fc.uint8Array({ maxLength: 300 })), (bytes) => {
      for (const { tunnel, endpoint } of [left, right]) tunnel.receiveDatagram(bytes, endpoint);
      assert.deepEqual([stateOf(left), stateOf(right), world.sent.length], before);
    }),
    { numRuns: 2000 },
  );
  assert.deepEqual([left.takeTexts(), right.takeTexts()], [[], []]);
});

Deno.test("a datagram that was changed anywhere → nothing thrown, sent, delivered or changed; the true one is still taken", () => {
  const { world, left, right, valid } = validDatagrams();
  const before = [stateOf(left), stateOf(right), world.sent.length];
  fc.assert(
    fc.property(fc.nat(valid.length - 1), change, (index, how) => {
      const bytes = changed(valid[index]!, how);
      // Both hosts get the datagram, whichever of them it was meant for.
      for (const { tunnel, endpoint } of [left, right]) tunnel.receiveDatagram(bytes, endpoint);
      assert.deepEqual([stateOf(left), stateOf(right), world.sent.length], before);
    }),
    { numRuns: 3000 },
  );
  assert.deepEqual([left.takeTexts(), right.takeTexts()], [[], []]);
  const [data, fresh] = valid;
  right.tunnel.receiveDatagram(data!, left.endpoint);
  assert.deepEqual(right.takeTexts(), ["data"]);
  right.tunnel.receiveDatagram(fresh!, left.endpoint);
  assert.equal(world.sent.at(-1)!.bytes[0], 2);
});

Deno.test("any bytes inside an authentic message → delivered only if they are a packet of the sender", () => {
  const world = new World();
  const host = world.addHost(2);
  const peer = new HostilePeer();
  const source = "10.0.0.66";
  host.tunnel.setPeers([{
    publicKey: peer.publicKey,
    presharedKey: null,
    allowedIps: [`${source}/32`],
    endpoints: [],
  }]);
  peer.connect(world, host);
  const content = fc.uint8Array({ maxLength: 80 });
  const addresses = { source, destination: host.inner };
  const ipv6 = { source: new Uint8Array(16), destination: new Uint8Array(16) };
  const packets = fc.oneof(
    fc.uint8Array({ maxLength: 120 }),
    fc.tuple(content, change).map(([bytes, how]) => changed(ipv4Packet(bytes, addresses), how)),
    fc.tuple(content, change).map(([bytes, how]) => changed(ipv6Packet(bytes, ipv6), how)),
  );
  let delivered = 0;
  fc.assert(
    fc.property(packets, (bytes) => {
      host.tunnel.receiveDatagram(peer.seal(bytes), peer.endpoint);
      for (const { packet, peer: from } of host.received.splice(0)) {
        assert.equal(from, peer.publicKey);
        assert.deepEqual([...packet.subarray(12, 16)], [10, 0, 0, 66]);
        assert.equal(packet.length, packet[2]! << 8 | packet[3]!);
        delivered += 1;
      }
    }),
    { numRuns: 2000 },
  );
  assert.ok(delivered > 100, "some of them are whole");
  const whole = ipv4Packet(new Uint8Array(5), addresses);
  host.tunnel.receiveDatagram(peer.seal(whole), peer.endpoint);
  assert.deepEqual(host.received.map(({ packet }) => packet), [whole]);
});

Deno.test("parseMessage() of every length and type → a message of its own length, or null", () => {
  const lengths = { 1: 148, 2: 92, 3: 64 } as const;
  for (let type = 0; type < 6; type++) {
    for (let length = 0; length < 200; length++) {
      const bytes = new Uint8Array(length);
      if (length > 0) bytes[0] = type;
      const isRight = type === 4 ? length >= 32 : length === lengths[type as 1 | 2 | 3];
      assert.equal(parseMessage(bytes) !== null, isRight, `type ${type}, length ${length}`);
      if (length > 3) bytes[length % 3 + 1] = 1;
      if (length > 3) assert.equal(parseMessage(bytes), null);
    }
  }
});

Deno.test("parseMessage() of data with a counter beyond what a number counts → null", () => {
  const bytes = new Uint8Array(32);
  bytes.set([4, 0, 0, 0, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 31, 0]);
  const message = parseMessage(bytes);
  assert.equal(message?.type === 4 && message.counter, Number.MAX_SAFE_INTEGER);
  bytes[14] = 32;
  assert.equal(parseMessage(bytes), null);
});
