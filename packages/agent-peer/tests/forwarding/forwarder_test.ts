import assert from "node:assert/strict";
import { Forwarder } from "../../forwarding/datagrams/forwarder.ts";
import type { Endpoint } from "../../wireguard/tunnel.ts";
import { DIRECT, forwarding, RELAYED } from "./forwarding.ts";
import { message, OWN_KEY, unsigned } from "./messages.ts";

const STRANGER: Endpoint = { address: "198.51.100.9", port: 1, via: "udp" };

Deno.test("the kernel's initiation → directly, later by relays; answered directly → not by relays", async () => {
  for (const isAnswered of [true, false]) {
    const { forwarder, kernelSends, take, pass, toKernel } = await forwarding("a=");
    forwarder.setPeers([{ publicKey: "a=", endpoints: [DIRECT, RELAYED] }]);
    const initiation = message(1, 7);
    kernelSends(initiation, "a=");
    assert.deepEqual(take(), [[initiation, DIRECT]]);
    const response = message(2, 9, 7);
    if (isAnswered) {
      forwarder.receiveDatagram(response, DIRECT);
      assert.deepEqual(toKernel, [{ port: forwarder.portOf("a="), datagram: response }]);
      // The kernel accepts the response, and sends a first data message.
      kernelSends(message(4, 9), "a=");
      assert.deepEqual(take(), [[message(4, 9), DIRECT]]);
      assert.deepEqual(forwarder.stats()[0]!.endpoint, DIRECT);
    }
    pass();
    assert.deepEqual(take(), isAnswered ? [] : [[initiation, RELAYED]]);
  }
});

Deno.test("a peer with another key calls from where it was → it has the port, and its session goes on; one that is elsewhere → none", async () => {
  const { forwarder, kernelSends, take, closed } = await forwarding("a=", "b=");
  forwarder.setPeers([{ publicKey: "a=", endpoints: [DIRECT] }]);
  forwarder.receiveDatagram(message(1, 7), DIRECT);
  kernelSends(message(2, 9, 7), "a=");
  take();
  const port = forwarder.portOf("a=")!;
  const place = `127.0.0.1:${port}`;
  const [taken, elsewhere] = [{ publicKey: "b=", endpoint: place }, "198.51.100.1:51820"];
  assert.deepEqual([...forwarder.handOver([{ publicKey: "a=", endpoint: null }, taken])], []);
  assert.deepEqual([...forwarder.handOver([taken])], [["a=", null]]);
  assert.deepEqual(
    [...forwarder.handOver([taken, { publicKey: "c=", endpoint: elsewhere }])],
    [["a=", null]],
  );
  const heir = { publicKey: "c=", endpoint: place };
  assert.deepEqual([...forwarder.handOver([taken, heir])], [["a=", "c="]]);
  assert.deepEqual([forwarder.portOf("a="), forwarder.portOf("c=")], [null, port]);
  kernelSends(message(4, 7), "c=");
  assert.deepEqual(take(), [[message(4, 7), DIRECT]]);
  assert.deepEqual(closed, []);
});

Deno.test("others answer first, as many as they want → relays are tried, and the right answer is where the kernel sends", async () => {
  const { forwarder, kernelSends, take, pass, toKernel } = await forwarding("a=");
  forwarder.setPeers([{ publicKey: "a=", endpoints: [DIRECT, RELAYED] }]);
  const initiation = message(1, 7);
  kernelSends(initiation, "a=");
  for (let index = 100; index < 105; index++) {
    forwarder.receiveDatagram(message(2, index, 7), STRANGER);
  }
  pass();
  assert.deepEqual(take(), [[initiation, DIRECT], [initiation, RELAYED]]);
  forwarder.receiveDatagram(message(2, 9, 7), RELAYED);
  kernelSends(message(4, 9), "a=");
  assert.deepEqual(take(), [[message(4, 9), RELAYED]]);
  assert.equal(toKernel.length, 6);
  for (let index = 200; index < 300; index++) {
    forwarder.receiveDatagram(message(2, index, 7), STRANGER);
  }
  assert.ok(toKernel.length < 20, String(toKernel.length));
  kernelSends(message(4, 9), "a=");
  assert.deepEqual(take(), [[message(4, 9), RELAYED]]);
});

Deno.test("a flood of initiations from one address → a few reach the kernel; one from another does", async () => {
  const { forwarder, toKernel } = await forwarding("a=", "b=");
  const other: Endpoint = { address: "192.0.2.2", port: 1000, via: "udp" };
  forwarder.setPeers([
    { publicKey: "a=", endpoints: [DIRECT] },
    { publicKey: "b=", endpoints: [other] },
  ]);
  for (let index = 0; index < 1000; index++) forwarder.receiveDatagram(message(1, index), DIRECT);
  assert.equal(toKernel.length, 5);
  forwarder.receiveDatagram(message(1, 5000), other);
  assert.equal(toKernel.length, 6);
});

Deno.test("a flood by somebody behind the peer's address who does not know this host's key → dropped; the peer's initiations are passed on", async () => {
  const { forwarder, toKernel } = await forwarding("a=");
  forwarder.setPeers([{ publicKey: "a=", endpoints: [DIRECT] }]);
  const stranger = { ...DIRECT, port: 2000 };
  for (let index = 0; index < 1000; index++) {
    forwarder.receiveDatagram(unsigned(1, index), stranger);
  }
  assert.deepEqual(toKernel, []);
  forwarder.receiveDatagram(message(1, 5000), DIRECT);
  assert.deepEqual(toKernel, [{ port: forwarder.portOf("a="), datagram: message(1, 5000) }]);
});

Deno.test("the kernel is given another key → initiations to that one count, and to the old one do not", async () => {
  const { forwarder, toKernel } = await forwarding("a=");
  forwarder.setPeers([{ publicKey: "a=", endpoints: [DIRECT] }]);
  forwarder.publicKey = "other";
  forwarder.receiveDatagram(message(1, 1), DIRECT);
  assert.deepEqual(toKernel, []);
  forwarder.publicKey = OWN_KEY;
  forwarder.receiveDatagram(message(1, 1), DIRECT);
  assert.equal(toKernel.length, 1);
});

Deno.test("an initiation from another port of a peer's address → answered there, then claimed by the peer", async () => {
  const { forwarder, kernelSends, take, toKernel } = await forwarding("a=", "b=");
  forwarder.setPeers([{ publicKey: "a=", endpoints: [DIRECT] }]);
  const from = { ...DIRECT, port: 2000 };
  forwarder.receiveDatagram(message(1, 9), from);
  const { port: guests } = toKernel[0]!;
  assert.ok(forwarder.isGuests(guests));
  // The kernel may send its response through the guests' port or through the peer's port.
  kernelSends(message(2, 7, 9), "a=");
  assert.deepEqual(take(), [[message(2, 7, 9), from]]);
  forwarder.receiveDatagram(message(4, 7), from);
  assert.equal(toKernel[1]!.port, forwarder.portOf("a="));
});

Deno.test("strangers, unknown sessions, and other programs of this host → dropped", async () => {
  const { forwarder, kernelSends, take, toKernel } = await forwarding("a=");
  forwarder.setPeers([{ publicKey: "a=", endpoints: [DIRECT] }]);
  forwarder.receiveDatagram(message(1, 9), STRANGER);
  forwarder.receiveDatagram(message(2, 9, 7), DIRECT);
  forwarder.receiveDatagram(message(4, 7), DIRECT);
  forwarder.receiveDatagram(new Uint8Array(1), DIRECT);
  kernelSends(message(1, 7), "a=", 40_000);
  assert.deepEqual(toKernel, []);
  assert.deepEqual(take(), []);
});

Deno.test("an established session, a datagram from elsewhere → the peer stays where it is", async () => {
  const { forwarder, kernelSends, take } = await forwarding("a=");
  forwarder.setPeers([{ publicKey: "a=", endpoints: [DIRECT] }]);
  kernelSends(message(1, 7), "a=");
  forwarder.receiveDatagram(message(2, 9, 7), DIRECT);
  take();
  forwarder.receiveDatagram(message(2, 9, 7), STRANGER);
  forwarder.receiveDatagram(message(4, 7), STRANGER);
  kernelSends(message(4, 9), "a=");
  assert.deepEqual(take(), [[message(4, 9), DIRECT]]);
});

Deno.test("the last peer is closed → all ports are; one of two → its own", async () => {
  const { forwarder, closed } = await forwarding("a=", "b=");
  const port = forwarder.portOf("a=")!;
  forwarder.close("a=");
  assert.deepEqual(closed, [port, port + 1]);
  assert.equal(forwarder.portOf("a="), null);
  forwarder.close("b=");
  assert.deepEqual(closed.sort(), [4000, 4001, 4002, 4003, 4004]);
});

Deno.test("a socket cannot be opened → rejected; those that were are closed at the end", async () => {
  const open = new Set<number>();
  let next = 4000;
  const forwarder = new Forwarder({
    publicKey: OWN_KEY,
    surroundings: {
      now: () => 0,
      unixTime: () => 0,
      randomBytes: (length) => new Uint8Array(length),
      after: () => () => {},
    },
    send: () => {},
    rankOf: () => 0,
    openSocket({ via, isLoopback = false }) {
      if (!isLoopback) return Promise.reject(new Error("too many files"));
      const port = next++;
      open.add(port);
      const close = () => void open.delete(port);
      return Promise.resolve({ via, port, families: ["ipv4"], send: () => {}, close });
    },
  });
  await assert.rejects(forwarder.open("a="), /too many files/);
  assert.equal(forwarder.portOf("a="), null);
  forwarder.closeAll();
  assert.deepEqual([...open], []);
});
