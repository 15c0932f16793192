/** UDP in one process: what leaves, what is an answer, and how neighbours share it. */
import assert from "node:assert/strict";
import { parsePacket, type UdpPacket } from "../../ip/filter/packet.ts";
import type { EntryEnd } from "../../ip/udp/idle_table.ts";
import { IDLE_MS, MOST_BYTES, MOST_FLOWS, UdpPorts } from "../../ip/udp/udp_ports.ts";
import { udpPacket } from "../packet_filter/packets.ts";

const ME = "10.213.0.1";
const [PLANNER, BUILDER] = ["10.213.0.2", "10.213.0.3"] as const;

/** Rules let everybody reach port 53 here, and this side port 123 of everybody. */
function ports() {
  const told = {
    sent: [] as Uint8Array[],
    lost: [] as string[],
    dropped: new Map<string, number>(),
    ends: [] as EntryEnd[],
    flows: 0,
  };
  const world = { now: 0, isAllowed: true, mayAnswer: true };
  const udp = new UdpPorts({
    mayReceive: (_, port) => world.isAllowed && port === 53,
    maySend: (_, port) => world.isAllowed && port === 123,
    ownerOf: (address) => address,
    mayAnswer: () => world.mayAnswer,
    onFlow: () => {
      told.flows++;
      return { received() {}, sent() {}, ended: (why) => void told.ends.push(why) };
    },
    onLost: (_, why) => void told.lost.push(why),
    onDropped: (owner) => void told.dropped.set(owner, (told.dropped.get(owner) ?? 0) + 1),
    onOutput: (packet) => void told.sent.push(packet),
    now: () => world.now,
  });
  udp.update({ addresses: [ME, "fd00::1"], mtu: 1280 });
  const arrive = (from: string, options: Omit<Parameters<typeof udpPacket>[1], "length">) => {
    const bytes = udpPacket({ from, to: ME }, options);
    const packet = parsePacket(bytes) as UdpPacket;
    const isIn = packet.destinationPort === 53 || udp.isAnswer(packet);
    if (isIn) udp.input(bytes, packet);
    return isIn;
  };
  return { udp, told, world, arrive };
}

Deno.test("a datagram that a rule lets out → sent; its answers come in within a minute, nothing else does", async () => {
  const { udp, told, world, arrive } = ports();
  const port = udp.bind(0);
  assert.ok(port.port >= 49_152, String(port.port));
  const answer = { fromPort: 123, toPort: port.port, data: Uint8Array.of(7) };
  assert.equal(arrive(PLANNER, answer), false, "nothing was sent yet");
  assert.equal(port.send(Uint8Array.of(1, 2), { address: PLANNER, port: 123 }), true);
  const sent = parsePacket(told.sent[0]!) as UdpPacket;
  assert.deepEqual([sent.sourcePort, sent.destinationPort], [port.port, 123]);
  assert.deepEqual([...told.sent[0]!.subarray(sent.dataAt)], [1, 2]);
  assert.equal(arrive(PLANNER, answer), true);
  assert.deepEqual(await port.receive(), [
    { data: Uint8Array.of(7), address: PLANNER, port: 123 },
  ]);
  assert.equal(arrive(PLANNER, { ...answer, fromPort: 124 }), false);
  assert.equal(arrive(PLANNER, { ...answer, toPort: port.port - 1 }), false);
  assert.equal(arrive(BUILDER, answer), false);
  world.now = IDLE_MS - 1;
  assert.equal(arrive(PLANNER, answer), true, "it keeps the flow alive");
  world.now += IDLE_MS;
  assert.equal(arrive(PLANNER, answer), false);
  assert.deepEqual(told.ends, ["idle"]);
  udp.close();
});

Deno.test("an answer to a datagram that came in → sent without a rule of its own, to that port alone, while the rule lasts", async () => {
  const { udp, told, world, arrive } = ports();
  const port = udp.bind(53);
  const back = { address: PLANNER, port: 5000 };
  assert.equal(port.send(new Uint8Array(1), back), false, "nobody has asked");
  assert.equal(arrive(PLANNER, { toPort: 53 }), true);
  assert.equal((await port.receive()).length, 1);
  assert.equal(port.send(new Uint8Array(1), back), true);
  assert.equal(port.send(new Uint8Array(1), { ...back, port: 5001 }), false);
  assert.equal(port.send(new Uint8Array(1), { ...back, address: BUILDER }), false);
  assert.equal(udp.bind(54).send(new Uint8Array(1), back), false, "from another port");
  world.isAllowed = false;
  udp.update({ addresses: [ME], mtu: 1280 });
  assert.equal(port.send(new Uint8Array(1), back), false, "the rule was revoked");
  assert.deepEqual(told.ends, ["revoked"]);
  assert.equal(told.sent.length, 1);
  udp.close();
});

Deno.test("a rule that is revoked → its answers do not come in, even if it is made again", () => {
  const { udp, world, arrive } = ports();
  const port = udp.bind(0);
  const answer = { fromPort: 123, toPort: port.port };
  port.send(new Uint8Array(1), { address: PLANNER, port: 123 });
  assert.equal(arrive(PLANNER, answer), true);
  for (const isAllowed of [false, true]) {
    world.isAllowed = isAllowed;
    udp.update({ addresses: [ME], mtu: 1280 });
    assert.equal(arrive(PLANNER, answer), false);
  }
  udp.close();
});

Deno.test("a datagram to a port where nothing listens → port unreachable, as often as ICMP may be sent", () => {
  const { told, world, arrive } = ports();
  arrive(PLANNER, { toPort: 53 });
  assert.equal(parsePacket(told.sent[0]!)?.kind, "error");
  world.mayAnswer = false;
  arrive(PLANNER, { toPort: 53 });
  assert.equal(told.sent.length, 1);
  assert.deepEqual(told.lost, ["nothing_listens", "nothing_listens"]);
  assert.equal(told.flows, 0);
});

Deno.test("a taken port, a datagram that is too large, an address family that is missing → errors, nothing is sent; a closed port receives no more", async () => {
  const { udp, told, arrive } = ports();
  const port = udp.bind(53);
  assert.throws(() => udp.bind(53), { code: "EADDRINUSE" });
  const [to, to6] = [{ address: PLANNER, port: 123 }, { address: "fd00::2", port: 123 }];
  assert.throws(() => port.send(new Uint8Array(1253), to), RangeError);
  assert.throws(() => port.send(new Uint8Array(1233), to6), RangeError);
  assert.equal(told.sent.length + told.flows, 0);
  assert.equal(port.send(new Uint8Array(1252), to), true);
  assert.equal(port.send(new Uint8Array(1232), to6), true);
  assert.deepEqual(told.sent.map(({ length }) => length), [1280, 1280]);
  udp.update({ addresses: [ME], mtu: 1280 });
  assert.throws(() => port.send(new Uint8Array(1), to6), { code: "ENETUNREACH" });
  const waiting = port.receive();
  port.close();
  assert.deepEqual(await waiting, []);
  assert.deepEqual(await port.receive(), []);
  assert.equal(port.send(new Uint8Array(1), to), false);
  assert.deepEqual(told.ends, ["closed", "closed"]);
  arrive(PLANNER, { toPort: 53 });
  assert.deepEqual(told.lost, ["nothing_listens"]);
  // Its port is free again, and a close of the old one does not end the new one.
  const second = udp.bind(53);
  port.close();
  arrive(PLANNER, { toPort: 53 });
  assert.equal((await second.receive()).length, 1);
  udp.close();
});

Deno.test("a neighbour that floods a port that nobody reads → keeps a half of the room; a quiet one loses nothing, and is read at once", async () => {
  const { udp, told, arrive } = ports();
  const port = udp.bind(53);
  const [flood, quiet] = ["0ad50002", "0ad50003"];
  const data = new Uint8Array(1000);
  for (let number = 0; number < 20_000; number++) arrive(PLANNER, { toPort: 53, data });
  assert.ok(udp.heldBy(flood) <= MOST_BYTES / 2);
  const kept = udp.heldBy(flood) / 1256;
  assert.equal(told.dropped.get(flood), 20_000 - kept);
  for (let number = 0; number < 10; number++) arrive(BUILDER, { toPort: 53 });
  assert.equal(told.dropped.get(quiet), undefined);
  const read: string[] = [];
  while (read.length < 20) read.push(...(await port.receive()).map(({ address }) => address));
  assert.equal(read.slice(0, 20).filter((address) => address === BUILDER).length, 10);
  for (let rest = kept - read.filter((address) => address === PLANNER).length; rest > 0;) {
    rest -= (await port.receive()).length;
  }
  assert.equal(udp.heldBy(flood) + udp.heldBy(quiet), 0);
  udp.close();
});

Deno.test("a neighbour that floods from every port → the flows of another one stay", () => {
  const { udp, told, arrive } = ports();
  const port = udp.bind(53);
  arrive(BUILDER, { toPort: 53 });
  for (let round = 0; round < 2; round++) {
    for (let fromPort = 1; fromPort < 20_000; fromPort++) {
      arrive(PLANNER, { fromPort, toPort: 53, data: new Uint8Array() });
    }
  }
  assert.equal(port.send(new Uint8Array(1), { address: BUILDER, port: 5000 }), true);
  assert.ok(told.flows - told.ends.length <= MOST_FLOWS / 2 + 1);
  assert.deepEqual(new Set(told.ends), new Set(["too_many"]));
  udp.close();
});
