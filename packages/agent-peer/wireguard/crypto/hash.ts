import { timingSafeEqual } from "node:crypto";
import { blake2s } from "@noble/hashes/blake2.js";
import { hmac } from "@noble/hashes/hmac.js";

/** BLAKE2s, 32 bytes, of the concatenated parts. */
export function hash(...parts: readonly Uint8Array[]): Uint8Array {
  const state = blake2s.create({ dkLen: 32 });
  for (const part of parts) state.update(part);
  return state.digest();
}

/** Keyed BLAKE2s, 16 bytes: what the paper calls MAC. */
export function mac(
  key: Uint8Array,
  ...parts: readonly Uint8Array[]
): Uint8Array {
  const state = blake2s.create({ dkLen: 16, key });
  for (const part of parts) state.update(part);
  return state.digest();
}

/** HKDF with HMAC-BLAKE2s: one, two or three keys of 32 bytes. */
export function deriveKeys(
  chainingKey: Uint8Array,
  { input, count }: { readonly input: Uint8Array; readonly count: 1 | 2 | 3 },
): [Uint8Array, Uint8Array, Uint8Array] {
  const extracted = hmac(blake2s, chainingKey, input);
  const keys: Uint8Array[] = [];
  let previous: Uint8Array = new Uint8Array();
  for (let index = 1; index <= count; index++) {
    const expansion = new Uint8Array(previous.length + 1);
    expansion.set(previous);
    expansion[previous.length] = index;
    previous = hmac(blake2s, extracted, expansion);
    keys.push(previous);
    expansion.fill(0);
  }
  extracted.fill(0);
  const [first = NONE, second = NONE, third = NONE] = keys;
  return [first, second, third];
}

const NONE = new Uint8Array();

/** Compares in a time that does not depend on the contents. */
export function areEqual(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && timingSafeEqual(left, right);
}
