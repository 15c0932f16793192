import nacl from "tweetnacl";
import { decodeKey } from "./base64.ts";
import { accepted, type Parsed, refused } from "../../_shared/addresses/parsed.ts";

/** A Curve25519 public key as WireGuard writes it: canonical base64 of 32 bytes. */
export type PublicKey = string & { readonly brand: "PublicKey" };

const FIELD_PRIME = 2n ** 255n - 19n;

/**
 * Every clamped scalar sends the points of low order, and no others, to zero (RFC 7748, section
 * 6.1). So any one scalar tells them apart.
 */
const ANY_SCALAR = new Uint8Array(32);

/** Parses the public key of a registration. Costs one scalar multiplication, about 1 ms. */
export function parsePublicKey(text: string): Parsed<PublicKey> {
  const bytes = decodeKey(text);
  if (bytes === null) {
    return refused("Must be a WireGuard public key: canonical base64 of exactly 32 bytes.");
  }
  if (littleEndian(bytes) >= FIELD_PRIME) {
    return refused("Must be below 2^255-19: this is another spelling of a smaller key.");
  }
  if (nacl.scalarMult(ANY_SCALAR, bytes).every((byte) => byte === 0)) {
    return refused("Must not be a low-order point: no handshake with it can ever complete.");
  }
  return accepted(text as PublicKey);
}

/** Of 32 bytes: the last digit has two bits more than the 256 need, and they are 0. */
const CANONICAL_FORM = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/;

/**
 * Parses a key that `parsePublicKey` accepted when it was stored; null when it is malformed. Only
 * the form is checked again: the curve arithmetic for a thousand peers would take a second.
 */
export function storedPublicKey(text: string): PublicKey | null {
  return CANONICAL_FORM.test(text) ? text as PublicKey : null;
}

function littleEndian(bytes: Uint8Array): bigint {
  return bytes.reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n);
}
