import { Buffer } from "node:buffer";

/** A key as `wg` writes it: 44 characters of base64. */
export function formatKey(key: Uint8Array): string {
  return Buffer.from(key).toString("base64");
}

/** Throws RangeError, without the text: it may be a secret. */
export function parseKey(text: string): Uint8Array {
  const bytes = Buffer.from(text, "base64");
  // Accept only the canonical text: most decoders accept several texts for the same bytes.
  if (bytes.length !== 32 || bytes.toString("base64") !== text) {
    throw new RangeError("A key is 32 bytes, in 44 characters of base64.");
  }
  const key = Uint8Array.from(bytes);
  bytes.fill(0);
  return key;
}
