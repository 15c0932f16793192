import { Buffer } from "node:buffer";

export function encodeBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

/**
 * With the check of the text's length, excludes a number of digits that is 1 mod 4: `Buffer` of the
 * platform's Deno (2.1) throws on these.
 */
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/**
 * The bytes of canonical base64 (RFC 4648, section 4); null for any other text. Comparing with the
 * text encoded again catches what `Buffer` tolerates: missing padding, and unused bits that are
 * set.
 */
export function decodeBase64(text: string): Uint8Array | null {
  if (text.length % 4 !== 0 || !BASE64.test(text)) return null;
  const { buffer, byteOffset, length } = Buffer.from(text, "base64");
  const bytes = new Uint8Array(buffer, byteOffset, length);
  return encodeBase64(bytes) === text ? bytes : null;
}

/** The 32 bytes of a key, public or secret, in canonical base64 as `wg` takes it; else null. */
export function decodeKey(text: string): Uint8Array | null {
  const bytes = decodeBase64(text);
  return bytes?.length === 32 ? bytes : null;
}
