import assert from "node:assert/strict";
import fc from "fast-check";
import { readAddress, writeAddress } from "../../paths/stun/address.ts";
import {
  ATTRIBUTE,
  bytesOfHex,
  CLASS,
  errorCodeOf,
  hasRightIntegrity,
  METHOD,
  parseStun,
  writeStun,
} from "../../paths/stun/message.ts";
import { readChannelData } from "../../paths/turn/channels.ts";
import { splitMessages } from "../../paths/turn/transport.ts";
import { attributes, noise, TRANSACTION } from "./noise.ts";

/** The sample response of RFC 5769, 2.2, with SOFTWARE, MESSAGE-INTEGRITY and FINGERPRINT. */
const RESPONSE = bytesOfHex(
  "0101003c2112a442b7e7a701bc34d686fa87dfae8022000b7465737420766563746f7220002000080001a147e112a643" +
    "000800142b91f599fd9e90c38c7489f92af9ba53f06be7d780280004c07d4c96",
);
const PASSWORD = new TextEncoder().encode("VOkJxbRl1RmTxUk/WvJxBt");

Deno.test("parseStun() of the response in RFC 5769 → its address, and authentic with its password alone", () => {
  const message = parseStun(RESPONSE)!;
  assert.deepEqual(
    [message.method, message.kind, message.transaction],
    [METHOD.binding, CLASS.success, TRANSACTION],
  );
  const mapped = message.attributes.get(ATTRIBUTE.xorMappedAddress);
  assert.deepEqual(readAddress(mapped, message.transaction), {
    address: "192.0.2.1",
    port: 32853,
  });
  assert.equal(hasRightIntegrity(message, PASSWORD), true);
  assert.equal(hasRightIntegrity(message, new TextEncoder().encode("another")), false);
});

Deno.test("a byte before the end of MESSAGE-INTEGRITY differs → not authentic, or no message", () => {
  const end = RESPONSE.length - 8;
  for (let at = 0; at < end; at++) {
    // A changed length, of the message or of an attribute, makes it unparsable.
    const bytes = RESPONSE.slice();
    bytes[at] = bytes[at]! ^ 1;
    const message = parseStun(bytes);
    assert.equal(message !== null && hasRightIntegrity(message, PASSWORD), false, `byte ${at}`);
  }
});

Deno.test("attributes behind MESSAGE-INTEGRITY → not read, for nobody vouches for them", () => {
  const forged = writeStun({
    method: METHOD.binding,
    kind: CLASS.success,
    transaction: TRANSACTION,
    attributes: new Map([[
      ATTRIBUTE.xorMappedAddress,
      writeAddress(
        { address: "192.0.2.66", port: 1 },
        TRANSACTION,
      ),
    ]]),
  });
  const signed = writeStun({
    method: METHOD.binding,
    kind: CLASS.success,
    transaction: TRANSACTION,
    attributes: new Map(),
  }, PASSWORD);
  const bytes = Uint8Array.from([...signed, ...forged.subarray(20)]);
  new DataView(bytes.buffer).setUint16(2, bytes.length - 20);
  const message = parseStun(bytes)!;
  assert.equal(hasRightIntegrity(message, PASSWORD), true);
  assert.equal(message.attributes.has(ATTRIBUTE.xorMappedAddress), false);
});

const place = fc.record({
  address: fc.oneof(fc.ipV4(), fc.constantFrom("2001:db8::7", "::1", "fd00:1:2:3:4:5:6:7")),
  port: fc.integer({ min: 0, max: 65535 }),
}, { noNullPrototype: true });

Deno.test("writeAddress() → readAddress() reads the same", () => {
  fc.assert(fc.property(place, (one) => {
    assert.deepEqual(readAddress(writeAddress(one, TRANSACTION), TRANSACTION), one);
  }));
});

Deno.test("writeStun() → parseStun() reads the same, whatever the attributes", () => {
  fc.assert(fc.property(attributes, fc.boolean(), (attributes, isSigned) => {
    const content = { method: METHOD.refresh, kind: CLASS.request, transaction: TRANSACTION };
    const bytes = writeStun({ ...content, attributes }, isSigned ? PASSWORD : null);
    const message = parseStun(bytes)!;
    for (const [type, value] of attributes) {
      assert.deepEqual([...message.attributes.get(type)!], [...value]);
    }
    assert.equal(hasRightIntegrity(message, PASSWORD), isSigned);
  }));
});

Deno.test("anything at all → read or refused, without an exception, and nothing beyond its end", () => {
  const options = { numRuns: 20_000, seed: Number(Deno.env.get("SEED") ?? 1) };
  fc.assert(
    fc.property(noise, (bytes) => {
      const message = parseStun(bytes);
      if (message !== null) {
        errorCodeOf(message);
        assert.equal(hasRightIntegrity(message, new Uint8Array(16)), false);
        for (const value of message.attributes.values()) {
          assert.ok(value.byteOffset + value.length <= bytes.byteOffset + bytes.length);
          readAddress(value, message.transaction);
        }
      }
      if (bytes.length >= 4) readChannelData(bytes);
      const { messages, rest, isBroken } = splitMessages(bytes);
      const sum = messages.reduce((total, { length }) => total + length, 0);
      assert.ok(sum + rest.length <= bytes.length);
      // The rest is the start of an incomplete message, or too short to tell.
      if (!isBroken && rest.length >= 4) assert.equal(splitMessages(rest).messages.length, 0);
    }),
    options,
  );
});

Deno.test("messages in a stream, cut anywhere → the same messages", () => {
  fc.assert(fc.property(fc.array(attributes, { maxLength: 4 }), fc.nat(400), (list, cut) => {
    const content = { method: METHOD.binding, kind: CLASS.success, transaction: TRANSACTION };
    const messages = list.map((attributes) => writeStun({ ...content, attributes }));
    const stream = Uint8Array.from(messages.flatMap((message) => [...message]));
    const first = splitMessages(stream.subarray(0, cut));
    const second = splitMessages(Uint8Array.from([...first.rest, ...stream.subarray(cut)]));
    assert.deepEqual(
      [...first.messages, ...second.messages].map((one) => [...one]),
      messages.map((
        one,
      ) => [...one]),
    );
    assert.equal(second.rest.length, 0);
  }));
});
