import nacl from "tweetnacl";
import { decodeKey } from "../../_shared/identity/encryption/base64.ts";
import { accepted, type Parsed, refused } from "../../_shared/operations/addresses/parsed.ts";

/** A Curve25519 public key as WireGuard writes it: canonical base64 of 32 bytes. */
export type PublicKey = string & { readonly brand: "PublicKey" };

const FIELD_PRIME = 2n ** 255n - 19n;

/**
 * Multiplication by any clamped scalar gives zero for points of low order, and only for these (RFC
 * 7748, section 6.1). So one scalar is enough to detect them.
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

/** Base64 of 32 bytes: 256 bits leave two bits of the last digit unused, and these must be 0. */
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
