import assert from "node:assert/strict";
import type { Endpoint } from "../../wireguard/tunnel.ts";
import { DIRECT, forwarding, RELAY } from "./forwarding.ts";
import { message } from "./messages.ts";

Deno.test("the peer answers the stranger, at the kernel's own endpoint → it is open, directly; its datagrams pass", async () => {
  const { forwarder, kernelSends, take, takeStrangers, strangerReceives, toKernel, vias } =
    await forwarding("a=");
  const own = { address: DIRECT.address, port: DIRECT.port };
  forwarder.setPeers([{ publicKey: "a=", endpoints: [DIRECT] }]);
  forwarder.setOwn("a=", { host: own.address, port: own.port });
  kernelSends(message(1, 7), "a=");
  assert.deepEqual(take(), [[message(1, 7), DIRECT]]);
  const sent = takeStrangers();
  const [, stranger] = sent[0]!;
  assert.deepEqual(vias, [stranger.via, DIRECT.via]);
  assert.deepEqual(sent, [[message(1, 7), { ...own, via: stranger.via }]]);
  assert.equal(forwarder.isOpen("a="), false);
  strangerReceives(message(2, 9, 7), stranger);
  kernelSends(message(4, 9), "a=");
  assert.equal(takeStrangers().length, 1);
  assert.deepEqual(take(), []);
  assert.deepEqual([forwarder.isOpen("a="), forwarder.stats()[0]!.endpoint], [true, DIRECT]);
  strangerReceives(message(4, 7), stranger);
  assert.deepEqual(toKernel.at(-1)!.datagram, message(4, 7));
  forwarder.setOwn("a=", null);
  assert.equal(forwarder.isOpen("a="), false);
});

Deno.test("the peer began the session → the first 3 data packets are also sent by the stranger; answered there → open", async () => {
  const { forwarder, kernelSends, take, takeStrangers, strangerReceives, vias } = await forwarding(
    "a=",
  );
  forwarder.setPeers([{ publicKey: "a=", endpoints: [DIRECT] }]);
  forwarder.receiveDatagram(message(1, 9), DIRECT);
  kernelSends(message(2, 7, 9), "a=");
  assert.deepEqual([take(), takeStrangers()], [[[message(2, 7, 9), DIRECT]], []]);
  forwarder.setHandshake("a=", 1);
  kernelSends(message(4, 9), "a=");
  assert.deepEqual(takeStrangers(), []);

  forwarder.setOwn("a=", { host: DIRECT.address, port: DIRECT.port });
  take();
  vias.length = 0;
  for (let times = 0; times < 4; times++) kernelSends(message(4, 9), "a=");
  assert.deepEqual(take(), Array.from({ length: 4 }, () => [message(4, 9), DIRECT]));
  const sent = takeStrangers();
  const [, stranger] = sent[0]!;
  assert.deepEqual(sent, Array.from({ length: 3 }, () => [message(4, 9), stranger]));
  const pair = [stranger.via, DIRECT.via];
  assert.deepEqual(vias, [...pair, ...pair, ...pair, DIRECT.via]);
  assert.equal(forwarder.isOpen("a="), false);

  strangerReceives(message(4, 7), { ...stranger, port: 2000 });
  assert.equal(forwarder.isOpen("a="), false);
  strangerReceives(message(4, 7), stranger);
  assert.deepEqual([forwarder.isOpen("a="), forwarder.stats()[0]!.endpoint], [true, DIRECT]);

  forwarder.setHandshake("a=", 2);
  kernelSends(message(4, 9), "a=");
  assert.equal(takeStrangers().length, 1);
  forwarder.setOwn("a=", null);
  assert.equal(forwarder.isOpen("a="), false);
  kernelSends(message(4, 9), "a=");
  assert.deepEqual(takeStrangers(), []);
});

Deno.test("a peer answers at the socket of another peer, which reports that socket to others → it is not open; no path leads there", async () => {
  const { forwarder, kernelSends, take, takeStrangers, strangerReceives, toKernel } =
    await forwarding("a=", "b=");
  const other: Endpoint = { ...DIRECT, address: "192.0.2.2" };
  forwarder.setPeers([
    { publicKey: "a=", endpoints: [DIRECT] },
    { publicKey: "b=", endpoints: [other] },
  ]);
  forwarder.setOwn("a=", { host: DIRECT.address, port: DIRECT.port });
  forwarder.setOwn("b=", { host: other.address, port: other.port });
  kernelSends(message(1, 7), "a=");
  kernelSends(message(1, 8), "b=");
  take();
  const [[, ofA], [, ofB]] = takeStrangers() as [[Uint8Array, Endpoint], [Uint8Array, Endpoint]];
  const fromB = { ...ofB, via: ofA.via };
  strangerReceives(message(2, 10, 8), fromB);
  strangerReceives(message(1, 11), fromB);
  assert.equal(toKernel.length, 0);
  kernelSends(message(4, 10), "b=");
  assert.equal(forwarder.isOpen("b="), false);
  strangerReceives(message(2, 10, 8), ofB);
  kernelSends(message(4, 10), "b=");
  assert.equal(forwarder.isOpen("b="), true);
  const moved = { ...ofB, port: 2000 };
  strangerReceives(message(1, 12), moved);
  assert.equal(toKernel.at(-1)!.port, forwarder.portOf("b="));
  kernelSends(message(2, 13, 12), "b=");
  assert.deepEqual(takeStrangers(), [[message(4, 10), ofB], [message(2, 13, 12), moved]]);
});

Deno.test("the peer answers another socket, or the kernel had it at a relay → it is not open", async () => {
  const { forwarder, kernelSends, takeStrangers } = await forwarding("a=", "b=");
  forwarder.setPeers([{ publicKey: "a=", endpoints: [DIRECT] }]);
  forwarder.setOwn("a=", { host: DIRECT.address, port: DIRECT.port });
  kernelSends(message(1, 7), "a=");
  forwarder.receiveDatagram(message(2, 9, 7), DIRECT);
  kernelSends(message(4, 9), "a=");
  assert.equal(forwarder.isOpen("a="), false);
  takeStrangers();
  forwarder.setOwn("b=", { host: RELAY, port: 1000 });
  kernelSends(message(1, 8), "b=");
  assert.deepEqual(takeStrangers(), []);
});
