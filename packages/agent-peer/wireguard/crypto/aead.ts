import { AD, KEY, NONCE, put, take, TEXT, wipe } from "./scratch.ts";
import { sodium } from "./sodium.ts";

export const TAG_BYTES = 16;

/** The longest additional data, which is a hash or a cookie's MAC. */
const MOST_AD_BYTES = 32;

interface AeadOptions {
  readonly key: Uint8Array;
  /** The nonce is four zero bytes and this number, in 64 bits, little-endian. */
  readonly counter: number;
  readonly ad?: Uint8Array;
}

/** ChaCha20-Poly1305 (RFC 8439). */
export function seal(
  plaintext: Uint8Array,
  options: AeadOptions,
): Uint8Array<ArrayBuffer> {
  const ad = prepare(options);
  put(TEXT, plaintext);
  encryptScratch(plaintext.length, ad);
  return take(TEXT, plaintext.length + TAG_BYTES);
}

/** Null if the tag is wrong. */
export function open(
  ciphertext: Uint8Array,
  options: AeadOptions,
): Uint8Array<ArrayBuffer> | null {
  if (ciphertext.length < TAG_BYTES) return null;
  const ad = prepare(options);
  put(TEXT, ciphertext);
  const isRight = sodium._crypto_aead_chacha20poly1305_ietf_decrypt(
    ...[TEXT, 0, 0, TEXT, ciphertext.length, 0, AD, ad, 0, NONCE, KEY] as const,
  ) === 0;
  return isRight ? take(TEXT, ciphertext.length - TAG_BYTES) : null;
}

/**
 * Like `seal`, but pads the plaintext with zeros to `length`, and writes to `target` from `at` on.
 */
export function sealPadded(
  target: Uint8Array,
  { plaintext, length, at, ...options }: AeadOptions & {
    readonly plaintext: Uint8Array;
    readonly length: number;
    readonly at: number;
  },
): void {
  const ad = prepare(options);
  put(TEXT, plaintext);
  wipe(TEXT + plaintext.length, length - plaintext.length);
  encryptScratch(length, ad);
  target.set(sodium.HEAPU8.subarray(TEXT, TEXT + length + TAG_BYTES), at);
}

interface XAeadOptions {
  readonly key: Uint8Array;
  readonly nonce: Uint8Array;
  readonly ad: Uint8Array;
}

/** XChaCha20-Poly1305, with a nonce of 24 bytes. */
export function xSeal(
  plaintext: Uint8Array,
  { key, nonce, ad }: XAeadOptions,
): Uint8Array<ArrayBuffer> {
  for (
    const [pointer, bytes] of [[KEY, key], [NONCE, nonce], [AD, ad]] as const
  ) {
    put(pointer, bytes);
  }
  put(TEXT, plaintext);
  sodium._crypto_aead_xchacha20poly1305_ietf_encrypt(
    ...[
      TEXT,
      0,
      TEXT,
      plaintext.length,
      0,
      AD,
      ad.length,
      0,
      0,
      NONCE,
      KEY,
    ] as const,
  );
  return take(TEXT, plaintext.length + TAG_BYTES);
}

/** Null if the tag is wrong. */
export function xOpen(
  ciphertext: Uint8Array,
  { key, nonce, ad }: XAeadOptions,
): Uint8Array<ArrayBuffer> | null {
  for (
    const [pointer, bytes] of [[KEY, key], [NONCE, nonce], [AD, ad]] as const
  ) {
    put(pointer, bytes);
  }
  put(TEXT, ciphertext);
  const isRight = sodium._crypto_aead_xchacha20poly1305_ietf_decrypt(
    ...[
      TEXT,
      0,
      0,
      TEXT,
      ciphertext.length,
      0,
      AD,
      ad.length,
      0,
      NONCE,
      KEY,
    ] as const,
  ) === 0;
  return isRight ? take(TEXT, ciphertext.length - TAG_BYTES) : null;
}

/** Puts key, nonce and additional data on the heap, and returns the length of that data. */
function prepare({ key, counter, ad }: AeadOptions): number {
  const heap = sodium.HEAPU8;
  heap.set(key, KEY);
  heap.fill(0, NONCE, NONCE + 4);
  let rest = counter;
  for (let index = 4; index < 12; index++) {
    heap[NONCE + index] = rest % 256;
    rest = Math.floor(rest / 256);
  }
  if (ad === undefined) return 0;
  if (ad.length > MOST_AD_BYTES) {
    throw new RangeError("too much additional data");
  }
  heap.set(ad, AD);
  return ad.length;
}

function encryptScratch(length: number, ad: number): void {
  sodium._crypto_aead_chacha20poly1305_ietf_encrypt(
    ...[TEXT, 0, TEXT, length, 0, AD, ad, 0, 0, NONCE, KEY] as const,
  );
}
