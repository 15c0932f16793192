import assert from "node:assert/strict";
import type { Endpoint } from "../../wireguard/tunnel.ts";
import { DIRECT, forwarding, isSought, RELAYED } from "./forwarding.ts";
import { message } from "./messages.ts";

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
    forwarder.punch(isSought);
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
  forwarder.punch(isSought);
  assert.deepEqual(waits, [500, 250]);
});

Deno.test("peers that are not reached directly → a datagram to their direct ways alone", async () => {
  const { forwarder, take } = await forwarding("a=");
  forwarder.setPeers([{ publicKey: "a=", endpoints: [DIRECT, RELAYED] }]);
  forwarder.punch(isSought);
  assert.deepEqual(take(), [[new Uint8Array(1), DIRECT]]);
});

Deno.test("a peer that is not sought → punched every 2 s; one that is sought, each time", async () => {
  const { forwarder, take, sleep } = await forwarding("a=", "b=");
  const other: Endpoint = { ...DIRECT, port: 2000 };
  forwarder.setPeers([
    { publicKey: "a=", endpoints: [DIRECT] },
    { publicKey: "b=", endpoints: [other] },
  ]);
  const reached = () => {
    forwarder.punch((publicKey) => publicKey === "b=");
    return take().map(([, { port }]) => port);
  };
  assert.deepEqual(reached(), [1000, 2000]);
  assert.deepEqual(reached(), [2000]);
  sleep(1999);
  assert.deepEqual(reached(), [2000]);
  sleep(1);
  assert.deepEqual(reached(), [1000, 2000]);
});

/** `a=` is the lower key, so this side sends second; `z=` is the greater one. */
for (const [key, isFirst] of [["z=", true], ["a=", false]] as const) {
  const turn = isFirst ? "at once" : "after 2 s";
  Deno.test(`an initiation from before ${key} has told of its endpoints → sent there ${turn}, then by relays, until it is answered`, async () => {
    const { forwarder, kernelSends, take, sleep, pass } = await forwarding(key);
    const initiation = message(1, 7);
    kernelSends(initiation, key);
    forwarder.punch(isSought);
    assert.deepEqual(take(), []);
    sleep(4000);
    forwarder.setPeers([{ publicKey: key, endpoints: [DIRECT, RELAYED] }]);
    forwarder.punch(isSought);
    if (!isFirst) {
      assert.deepEqual(take(), [[new Uint8Array(1), DIRECT]]);
      sleep(1999);
      forwarder.punch(isSought);
      assert.deepEqual(take(), [[new Uint8Array(1), DIRECT]]);
      sleep(1);
      forwarder.punch(isSought);
    }
    assert.deepEqual(take(), [[initiation, DIRECT]]);
    for (let times = 0; times < 2; times++) {
      pass();
      assert.deepEqual(take(), [[initiation, RELAYED]]);
      forwarder.punch(isSought);
      assert.deepEqual(take(), [[initiation, DIRECT]]);
    }
    forwarder.receiveDatagram(message(2, 9, 7), RELAYED);
    kernelSends(message(4, 9), key);
    take();
    forwarder.punch(isSought);
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
    forwarder.punch(isSought);
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
