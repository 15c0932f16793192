import assert from "node:assert/strict";
import { Forwarder } from "../../../clients/typescript/src/forwarding/datagrams/forwarder.ts";
import type { UdpOptions } from "../../../clients/typescript/src/wireguard/sockets/udp_socket.ts";
import type { Endpoint } from "../../../clients/typescript/src/wireguard/tunnel.ts";
import { message, OWN_KEY, unsigned } from "./messages.ts";

const KERNEL = 51820;
const DIRECT: Endpoint = { address: "192.0.2.1", port: 1000, via: "udp" };
const RELAYED: Endpoint = { address: "192.0.2.1", port: 1000, via: "relay-1" };
const RELAY = "203.0.113.1";
const STRANGER: Endpoint = { address: "198.51.100.9", port: 1, via: "udp" };

/** A forwarder with a port for each of these peers. Only the test moves the time. */
async function forwarding(...publicKeys: string[]) {
  const sent: [Uint8Array, Endpoint][] = [];
  const toKernel: { port: number; datagram: Uint8Array }[] = [];
  const opened = new Map<number, UdpOptions>();
  const closed: number[] = [];
  const strangers: [Uint8Array, Endpoint][] = [];
  const timers = new Set<() => void>();
  const waits: number[] = [];
  /** By which sockets each datagram to peers was sent. */
  const vias: string[] = [];
  let now = 0;
  const forwarder = new Forwarder({
    publicKey: OWN_KEY,
    surroundings: {
      now: () => now,
      unixTime: () => 0,
      randomBytes: (length) => new Uint8Array(length),
      after(milliseconds, action) {
        waits.push(milliseconds);
        timers.add(action);
        return () => timers.delete(action);
      },
    },
    send(datagram, to) {
      sent.push([datagram, to]);
      vias.push(to.via);
    },
    rankOf: ({ via, address }) => via === "udp" && address !== RELAY ? 0 : 1,
    openSocket(options) {
      const port = 4000 + opened.size;
      opened.set(port, options);
      return Promise.resolve({
        via: options.via,
        port,
        families: ["ipv4"],
        send: (datagram, to) => {
          if (options.isLoopback !== true) {
            vias.push(options.via);
            strangers.push([datagram, { ...to, via: options.via }]);
            return;
          }
          assert.deepEqual(to, { address: "127.0.0.1", port: KERNEL });
          toKernel.push({ port, datagram });
        },
        close: () => void closed.push(port),
      });
    },
  });
  forwarder.kernelPort = KERNEL;
  for (const publicKey of publicKeys) await forwarder.open(publicKey);
  return {
    forwarder,
    toKernel,
    closed,
    waits,
    vias,
    take: () => sent.splice(0),
    sleep: (milliseconds: number) => now += milliseconds,
    /** Delivers a datagram to the socket whose `via` this is, which no peer was told of. */
    strangerReceives(datagram: Uint8Array, from: Endpoint) {
      const stranger = [...opened.values()].find(({ via }) => via === from.via)!;
      stranger.onDatagram(datagram, from);
    },
    takeStrangers: () => strangers.splice(0),
    pass: () => [...timers].forEach((action) => (timers.delete(action), action())),
    kernelSends(datagram: Uint8Array, to: string, from = KERNEL) {
      const options = opened.get(forwarder.portOf(to)!)!;
      options.onDatagram(datagram, { address: "127.0.0.1", port: from, via: "127.0.0.1" });
    },
  };
}

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

Deno.test("a peer is closed, or another takes its port, while its initiation waits for relays → it is not sent", async () => {
  for (const heirs of [[], ["b="]]) {
    const { forwarder, kernelSends, take, pass } = await forwarding("a=");
    forwarder.setPeers([{ publicKey: "a=", endpoints: [RELAYED] }]);
    kernelSends(message(1, 7), "a=");
    const endpoint = `127.0.0.1:${forwarder.portOf("a=")}`;
    const peers = heirs.map((publicKey) => ({ publicKey, endpoint }));
    assert.deepEqual([...forwarder.handOver(peers)], [["a=", heirs[0] ?? null]]);
    if (heirs.length === 0) forwarder.close("a=");
    pass();
    forwarder.punch();
    assert.deepEqual(take(), []);
  }
});

Deno.test("an initiation → to relays half a second later; when it is repeated, a quarter", async () => {
  const { forwarder, kernelSends, waits, sleep, pass } = await forwarding("z=");
  forwarder.setPeers([{ publicKey: "z=", endpoints: [DIRECT, RELAYED] }]);
  kernelSends(message(1, 7), "z=");
  assert.deepEqual(waits, [500]);
  pass();
  sleep(2000);
  forwarder.punch();
  assert.deepEqual(waits, [500, 250]);
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

Deno.test("peers that are not reached directly → a datagram to their direct ways alone", async () => {
  const { forwarder, take } = await forwarding("a=");
  forwarder.setPeers([{ publicKey: "a=", endpoints: [DIRECT, RELAYED] }]);
  forwarder.punch();
  assert.deepEqual(take(), [[new Uint8Array(1), DIRECT]]);
});

/** `a=` is the lower key, so this side sends second; `z=` is the greater one. */
for (const [key, isFirst] of [["z=", true], ["a=", false]] as const) {
  const turn = isFirst ? "at once" : "after 2 s";
  Deno.test(`an initiation from before ${key} has told of its endpoints → sent there ${turn}, then by relays, until it is answered`, async () => {
    const { forwarder, kernelSends, take, sleep, pass } = await forwarding(key);
    const initiation = message(1, 7);
    kernelSends(initiation, key);
    forwarder.punch();
    assert.deepEqual(take(), []);
    sleep(4000);
    forwarder.setPeers([{ publicKey: key, endpoints: [DIRECT, RELAYED] }]);
    forwarder.punch();
    if (!isFirst) {
      assert.deepEqual(take(), [[new Uint8Array(1), DIRECT]]);
      sleep(1999);
      forwarder.punch();
      assert.deepEqual(take(), [[new Uint8Array(1), DIRECT]]);
      sleep(1);
      forwarder.punch();
    }
    assert.deepEqual(take(), [[initiation, DIRECT]]);
    for (let times = 0; times < 2; times++) {
      pass();
      assert.deepEqual(take(), [[initiation, RELAYED]]);
      forwarder.punch();
      assert.deepEqual(take(), [[initiation, DIRECT]]);
    }
    forwarder.receiveDatagram(message(2, 9, 7), RELAYED);
    kernelSends(message(4, 9), key);
    take();
    forwarder.punch();
    assert.deepEqual(take(), [[new Uint8Array(1), DIRECT]]);
  });
}

Deno.test("the kernel answers the peer's initiation, or has a session otherwise → its own is not sent again", async () => {
  for (const how of ["answers", "has a session"]) {
    const { forwarder, kernelSends, take } = await forwarding("z=");
    kernelSends(message(1, 7), "z=");
    forwarder.setPeers([{ publicKey: "z=", endpoints: [RELAYED, DIRECT] }]);
    if (how === "answers") {
      forwarder.receiveDatagram(message(1, 8), RELAYED);
      kernelSends(message(2, 9, 8), "z=");
    } else forwarder.setHandshake("z=", 1000);
    take();
    forwarder.punch();
    assert.deepEqual(take(), [[new Uint8Array(1), DIRECT]], how);
  }
});

Deno.test("a better way is dead, and the kernel sends in its old session → its initiation goes by relays all the same", async () => {
  const { forwarder, kernelSends, take, pass } = await forwarding("a=");
  forwarder.setPeers([{ publicKey: "a=", endpoints: [DIRECT, RELAYED] }]);
  kernelSends(message(1, 7), "a=");
  forwarder.receiveDatagram(message(2, 9, 7), DIRECT);
  kernelSends(message(4, 9), "a=");
  kernelSends(message(1, 17), "a=");
  kernelSends(message(4, 9), "a=");
  take();
  pass();
  assert.deepEqual(take(), [[message(1, 17), RELAYED]]);
});

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
