import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import fc from "fast-check";
import { writeAddress } from "../../paths/stun/address.ts";
import {
  ATTRIBUTE,
  CLASS,
  METHOD,
  parseStun,
  type ReceivedStun,
  writeStun,
} from "../../paths/stun/message.ts";
import { Allocation } from "../../paths/turn/allocation.ts";
import { World } from "../wireguard/simulation.ts";
import { noise } from "./noise.ts";

const encoder = new TextEncoder();
const REALM = encoder.encode("mesh.test");
const KEY = createHash("md5").update("agent:mesh.test:secret").digest();
const OTHER_KEY = createHash("md5").update("agent:mesh.test:guess").digest();
const RELAYED = { address: "198.51.100.1", port: 50000 };
const PEER = { address: "192.0.2.2", port: 51820 };

/** An allocation whose server is simulated by the test. */
function allocate({ isReliable = false } = {}) {
  const world = new World();
  const requests: ReceivedStun[] = [];
  const arrived: string[] = [];
  let ends = 0;
  const send = (message: Uint8Array) => void requests.push(parseStun(message)!);
  const allocation = new Allocation({
    transport: { isReliable, send, sendData: send, close: () => {} },
    surroundings: world.surroundings,
    username: "agent",
    credential: "secret",
    via: "relay",
    onDatagram: (datagram) => void arrived.push(new TextDecoder().decode(datagram)),
    onEnd: () => void (ends += 1),
  });
  const last = () => requests.at(-1)!;
  function answer(
    kind: number,
    attributes: readonly (readonly [number, Uint8Array])[],
    key: Uint8Array | null = KEY,
  ): void {
    const { method, transaction } = last();
    allocation.receive(
      writeStun({ method, kind, transaction, attributes: new Map(attributes) }, key),
    );
  }
  const allocated = () =>
    [
      [ATTRIBUTE.xorRelayedAddress, writeAddress(RELAYED, last().transaction)],
      [ATTRIBUTE.lifetime, Uint8Array.of(0, 0, 2, 88)],
    ] as const;
  const refuse = (code: number, nonce: string, key: Uint8Array | null = null) =>
    answer(CLASS.error, [
      [ATTRIBUTE.errorCode, Uint8Array.of(0, 0, Math.floor(code / 100), code % 100)],
      [ATTRIBUTE.realm, REALM],
      [ATTRIBUTE.nonce, encoder.encode(nonce)],
    ], key);
  const nonce = () => new TextDecoder().decode(last().attributes.get(ATTRIBUTE.nonce));
  return {
    world,
    allocation,
    requests,
    arrived,
    ends: () => ends,
    last,
    answer,
    allocated,
    refuse,
    nonce,
  };
}

/** Resolves when every promise that can settle by itself has settled. */
function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** An allocation that the server has granted. */
async function allocatedOne(options = {}) {
  const server = allocate(options);
  const opening = server.allocation.open();
  server.refuse(401, "first");
  await settle();
  server.answer(CLASS.success, server.allocated());
  await opening;
  return server;
}

Deno.test("a success that nobody signed, or somebody else → ignored; the server's own counts", async () => {
  const server = allocate();
  let isOpen = false;
  const opening = server.allocation.open().then((relayed) => {
    isOpen = true;
    return relayed;
  });
  // Until the server has named its realm, no answer can be signed, so this one is ignored.
  server.answer(CLASS.success, server.allocated(), null);
  await settle();
  server.refuse(401, "first");
  await settle();
  server.answer(CLASS.success, server.allocated(), null);
  server.answer(CLASS.success, server.allocated(), OTHER_KEY);
  await settle();
  assert.deepEqual([isOpen, server.allocation.relayed], [false, null]);
  server.answer(CLASS.success, server.allocated());
  assert.deepEqual(await opening, RELAYED);
});

Deno.test("a refusal that anybody may have written → the server's answer behind it counts", async () => {
  const server = allocate();
  const opening = server.allocation.open();
  server.refuse(401, "first");
  await settle();
  server.refuse(401, "forged");
  server.refuse(438, "forged");
  await settle();
  server.answer(CLASS.success, server.allocated());
  assert.deepEqual(await opening, RELAYED);
  assert.equal(server.nonce(), "first");
});

Deno.test("a stale nonce → the same request with the new one; another realm in it is not believed", async () => {
  const server = await allocatedOne();
  const permission = server.allocation.permit(PEER.address);
  server.answer(CLASS.error, [
    [ATTRIBUTE.errorCode, Uint8Array.of(0, 0, 4, 38)],
    [ATTRIBUTE.realm, encoder.encode("elsewhere.test")],
    [ATTRIBUTE.nonce, encoder.encode("second")],
  ], null);
  server.world.advance(200);
  await settle();
  assert.equal(server.nonce(), "second");
  assert.deepEqual(server.last().attributes.get(ATTRIBUTE.realm), REALM);
  server.answer(CLASS.success, []);
  assert.equal(await permission, true);
});

Deno.test("stale nonces without an end → given up after three", async () => {
  const server = await allocatedOne({ isReliable: true });
  const before = server.requests.length;
  const permission = server.allocation.permit(PEER.address);
  for (let round = 0; round < 5; round++) {
    server.refuse(438, `nonce ${round}`);
    await settle();
  }
  assert.equal(await permission, false);
  assert.equal(server.requests.length - before, 3);
});

Deno.test("wrong credentials → an error with the code, and no credential in it", async () => {
  const server = allocate({ isReliable: true });
  const opening = server.allocation.open();
  server.refuse(401, "first");
  await settle();
  server.refuse(401, "second");
  await assert.rejects(opening, (error) => {
    assert.match(String(error), /answers 401/);
    assert.doesNotMatch(String((error as Error).stack), /secret/);
    return true;
  });
  assert.equal(server.requests.length, 2);
});

Deno.test("a datagram from an address that is not permitted, or by a channel that is none → dropped", async () => {
  const server = await allocatedOne();
  const indicate = (from: typeof PEER, text: string) => {
    const transaction = "00".repeat(12);
    const attributes = new Map([
      [ATTRIBUTE.xorPeerAddress, writeAddress(from, transaction)],
      [ATTRIBUTE.data, encoder.encode(text)],
    ]);
    const { data: method } = METHOD;
    server.allocation.receive(
      writeStun({ method, kind: CLASS.indication, transaction, attributes }),
    );
  };
  indicate(PEER, "too early");
  server.allocation.receive(Uint8Array.of(0x40, 0, 0, 1, 65));
  assert.deepEqual(server.arrived, []);
  const permission = server.allocation.permit(PEER.address);
  server.answer(CLASS.success, []);
  assert.equal(await permission, true);
  indicate({ ...PEER, address: "192.0.2.3" }, "from a stranger");
  indicate({ ...PEER, port: 1 }, "from another port");
  assert.deepEqual(server.arrived, ["from another port"]);
  await server.allocation.permitOnly([]);
  indicate(PEER, "too late");
  assert.deepEqual(server.arrived, ["from another port"]);
});

Deno.test("datagrams to one place → indications, and then a channel, also in the other direction", async () => {
  const server = await allocatedOne();
  server.allocation.send(encoder.encode("held"), PEER);
  assert.equal(server.last().method, METHOD.createPermission);
  server.answer(CLASS.success, []);
  await settle();
  const { method, attributes } = server.last();
  assert.equal(method, METHOD.send);
  assert.deepEqual(attributes.get(ATTRIBUTE.data), encoder.encode("held"));
  for (let number = 0; number < 3; number++) server.allocation.send(encoder.encode("more"), PEER);
  assert.equal(server.last().method, METHOD.channelBind);
  server.answer(CLASS.success, []);
  await settle();
  server.allocation.receive(Uint8Array.of(0x40, 0, 0, 2, 72, 105, 0, 0));
  server.allocation.receive(Uint8Array.of(0x40, 0, 0, 9, 72, 105));
  assert.deepEqual(server.arrived, ["Hi"]);
});

Deno.test("the relay has forgotten the allocation → it ends, once; forged so → it does not", async () => {
  const server = await allocatedOne();
  server.world.advance(25_000);
  assert.equal(server.last().method, METHOD.refresh);
  server.refuse(437, "first");
  server.refuse(437, "first", OTHER_KEY);
  await settle();
  assert.equal(server.ends(), 0);
  server.refuse(437, "first", KEY);
  await settle();
  assert.equal(server.ends(), 1);
  server.world.advance(600_000);
  await settle();
  assert.equal(server.ends(), 1);
});

Deno.test("the relay does not answer any more → the allocation ends", async () => {
  const server = await allocatedOne();
  server.world.advance(25_000);
  server.world.advance(7_400);
  await settle();
  assert.equal(server.ends(), 0);
  server.world.advance(200);
  await settle();
  assert.equal(server.ends(), 1);
});

Deno.test("close() → gives the address back, and tells nobody of an end", async () => {
  const server = await allocatedOne();
  server.allocation.close();
  assert.equal(server.last().method, METHOD.refresh);
  assert.deepEqual([...server.last().attributes.get(ATTRIBUTE.lifetime)!], [0, 0, 0, 0]);
  const sent = server.requests.length;
  server.allocation.send(encoder.encode("after"), PEER);
  server.world.advance(600_000);
  await settle();
  assert.deepEqual([server.ends(), server.requests.length], [0, sent + 1]);
});

Deno.test("anything at all from the server → nothing arrives, nothing ends, no exception", async () => {
  const server = await allocatedOne();
  const permission = server.allocation.permit(PEER.address);
  const { requests } = server;
  const sent = requests.length;
  const options = { numRuns: 5000, seed: Number(Deno.env.get("SEED") ?? 1) };
  fc.assert(fc.property(noise, (bytes) => server.allocation.receive(bytes)), options);
  await settle();
  assert.deepEqual([server.arrived, server.ends(), requests.length], [[], 0, sent]);
  server.answer(CLASS.success, []);
  assert.equal(await permission, true);
});
