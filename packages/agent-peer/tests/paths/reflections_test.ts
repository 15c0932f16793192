import assert from "node:assert/strict";
import type { Address } from "../../paths/stun/address.ts";
import { writeAddress } from "../../paths/stun/address.ts";
import { ATTRIBUTE, CLASS, METHOD, parseStun, writeStun } from "../../paths/stun/message.ts";
import { Reflections } from "../../paths/stun/reflections.ts";
import { World } from "../wireguard/simulation.ts";

const SERVERS: readonly Address[] = [
  { address: "198.51.100.1", port: 3478 },
  { address: "198.51.100.2", port: 3478 },
];
const OUTSIDE = { address: "203.0.113.9", port: 40000 };

/** Resolves when every promise that can settle by itself has settled. */
function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

function reflect() {
  const world = new World();
  const sent: { readonly bytes: Uint8Array; readonly to: Address }[] = [];
  let changes = 0;
  /** The servers that answer, and the address that they see. */
  const state = { answering: SERVERS, seen: OUTSIDE as Address };
  const reflections = new Reflections({
    surroundings: world.surroundings,
    onChange: () => void (changes += 1),
    send(bytes, to) {
      sent.push({ bytes, to });
      if (state.answering.includes(to)) queueMicrotask(() => reflections.take(answer(bytes), to));
    },
  });
  function answer(request: Uint8Array): Uint8Array {
    const { transaction } = parseStun(request)!;
    const attributes = new Map([
      [ATTRIBUTE.xorMappedAddress, writeAddress(state.seen, transaction)],
    ]);
    return writeStun({ method: METHOD.binding, kind: CLASS.success, transaction, attributes });
  }
  const advance = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      world.advance(1000);
      await settle();
    }
  };
  return { reflections, sent, state, advance, answer, changes: () => changes };
}

Deno.test("a server answers → known where it sees the socket, and asked every 25 s so that it stays", async () => {
  const { reflections, sent, state, advance, changes } = reflect();
  state.answering = SERVERS.slice(1);
  const known = reflections.setServers(SERVERS);
  await settle();
  assert.deepEqual([reflections.addresses, changes()], [[OUTSIDE], 1]);
  await advance(20);
  await known;
  const before = sent.length;
  await advance(100);
  assert.deepEqual(sent.slice(before).map(({ to }) => to), Array(4).fill(SERVERS[1]));
  state.seen = { ...OUTSIDE, port: 40001 };
  await advance(30);
  assert.deepEqual([reflections.addresses, changes()], [[state.seen], 2]);
  assert.equal(reflections.isBlocked, false);
});

Deno.test("nobody answers → UDP is blocked, and nobody is asked again until the network changes", async () => {
  const { reflections, sent, state, advance } = reflect();
  state.answering = [];
  void reflections.setServers(SERVERS);
  assert.equal(reflections.isBlocked, false);
  await advance(20);
  assert.equal(reflections.isBlocked, true);
  const before = sent.length;
  await advance(3600);
  assert.equal(sent.length, before);
  state.answering = SERVERS;
  void reflections.restart();
  await settle();
  assert.deepEqual([reflections.addresses, reflections.isBlocked], [[OUTSIDE], false]);
});

Deno.test("the server stops to answer → another one is asked; all stop → asked now and then, for it did work", async () => {
  const { reflections, sent, state, advance } = reflect();
  await reflections.setServers(SERVERS);
  state.answering = SERVERS.slice(1);
  await advance(60);
  assert.deepEqual([reflections.addresses, sent.at(-1)!.to], [[OUTSIDE], SERVERS[1]]);
  state.answering = [];
  await advance(120);
  assert.deepEqual(reflections.addresses, []);
  state.answering = SERVERS;
  await advance(310);
  assert.deepEqual([reflections.addresses, reflections.isBlocked], [[OUTSIDE], false]);
});

Deno.test("an answer from another address, or to no request → not taken, and nothing known", async () => {
  const { reflections, sent, state, answer } = reflect();
  state.answering = [];
  void reflections.setServers(SERVERS.slice(0, 1));
  const forged = answer(sent[0]!.bytes);
  assert.equal(reflections.take(forged, { address: "192.0.2.66", port: 3478 }), false);
  assert.equal(reflections.take(forged, { ...SERVERS[0]!, port: 1 }), false);
  const unasked = forged.slice();
  unasked[19] = unasked[19]! ^ 1;
  assert.equal(reflections.take(unasked, SERVERS[0]!), false);
  await settle();
  assert.deepEqual(reflections.addresses, []);
  reflections.close();
});
