/** Damaged datagrams: anyone can send them to the tunnel's socket. */
import assert from "node:assert/strict";
import { ATTRIBUTE, CLASS, METHOD, parseStun, writeStun } from "../../../paths/stun/message.ts";
import { pairOf, World } from "../../wireguard/simulation.ts";
import { randomFrom } from "../emulated_link.ts";
import { below, type Random } from "./mutations.ts";

const SEED = Number(Deno.env.get("SEED") ?? 1);
const DATAGRAMS = Number(Deno.env.get("FUZZ_DATAGRAMS") ?? 30_000);

/** Changes one to four bytes, and sometimes the length. Unchanged bytes would be a replay. */
function damaged(bytes: Uint8Array, random: Random): Uint8Array {
  const length = random() < 0.7 ? bytes.length : below(random, bytes.length + 40);
  const changed = new Uint8Array(length);
  changed.set(bytes.subarray(0, length));
  if (length === 0) return changed;
  for (let count = 1 + below(random, 4); count > 0; count--) {
    changed[below(random, length)]! ^= 1 + below(random, 255);
  }
  return changed;
}

Deno.test(`${DATAGRAMS} damaged datagrams into a tunnel, seed ${SEED} → nothing is thrown or delivered, and it works afterwards`, () => {
  const random = randomFrom(SEED);
  const world = new World();
  const { left, right } = pairOf(world);
  left.sendTo(right, "before");
  world.settle();
  assert.deepEqual(right.takeTexts(), ["before"]);
  const valid: Uint8Array[] = [];
  for (let count = 0; count < DATAGRAMS; count++) {
    if (count % 1000 === 0) {
      // Create fresh datagrams of every kind. An hour later, the counters of cookies are reset.
      world.advance(3_600_000);
      left.tunnel.tryEndpoints(right.publicKey, [right.endpoint]);
      world.settle();
      left.sendTo(right, "data");
      world.settle();
      right.takeTexts();
      valid.splice(0, valid.length, ...world.sent.slice(-4).map(({ bytes }) => bytes));
      world.sent.length = 0;
    }
    const bytes = damaged(valid[below(random, valid.length)]!, random);
    for (const { tunnel, endpoint } of [left, right]) tunnel.receiveDatagram(bytes, endpoint);
  }
  assert.deepEqual([left.takeTexts(), right.takeTexts()], [[], []]);
  world.advance(3_600_000);
  left.sendTo(right, "afterwards");
  world.settle();
  assert.deepEqual(right.takeTexts(), ["afterwards"]);
});

Deno.test(`${DATAGRAMS} damaged STUN messages, seed ${SEED} → null, or a message within its bytes`, () => {
  const random = randomFrom(SEED);
  const message = {
    method: METHOD.allocate,
    kind: CLASS.success,
    transaction: "00112233445566778899aabb",
    attributes: new Map([
      [ATTRIBUTE.xorMappedAddress, Uint8Array.of(0, 1, 2, 3, 4, 5, 6, 7)],
      [ATTRIBUTE.lifetime, Uint8Array.of(0, 0, 2, 88)],
      [ATTRIBUTE.nonce, Uint8Array.of(1, 2, 3)],
    ]),
  };
  const valid = writeStun(message, new Uint8Array(16));
  assert.equal(parseStun(valid)?.attributes.size, 4);
  let parsed = 0;
  for (let count = 0; count < DATAGRAMS; count++) {
    const bytes = damaged(valid, random);
    const result = parseStun(bytes);
    if (result === null) continue;
    parsed += 1;
    for (const value of result.attributes.values()) {
      assert.ok(value.byteOffset + value.length <= bytes.byteOffset + bytes.length);
    }
  }
  assert.ok(parsed > 0 && parsed < DATAGRAMS, String(parsed));
});
