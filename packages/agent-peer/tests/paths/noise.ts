/** Datagrams that a hostile server, or an attacker on the way, may send. */
import fc from "fast-check";
import { CLASS, METHOD, writeStun } from "../../paths/stun/message.ts";

/** The transaction id of the samples in RFC 5769. */
export const TRANSACTION = "b7e7a701bc34d686fa87dfae";

const KEY = new TextEncoder().encode("a key that nobody else has");

export const attributes = fc.uniqueArray(
  fc.tuple(fc.integer({ min: 0x0c, max: 0xffff }), fc.uint8Array({ maxLength: 40 })),
  { selector: ([type]) => type, maxLength: 6 },
).map((entries) => new Map(entries));

/** Random bytes, and messages with some bytes changed or cut off. */
export const noise = fc.oneof(
  fc.uint8Array({ maxLength: 200 }),
  fc.record({
    attributes,
    changes: fc.array(fc.tuple(fc.nat(300), fc.nat(255)), { maxLength: 6 }),
    end: fc.nat(300),
  }).map(({ attributes, changes, end }) => {
    const content = { method: METHOD.data, kind: CLASS.indication, transaction: TRANSACTION };
    const bytes = writeStun({ ...content, attributes }, KEY);
    for (const [at, value] of changes) bytes[at % bytes.length] = value;
    return bytes.subarray(0, end);
  }),
);
