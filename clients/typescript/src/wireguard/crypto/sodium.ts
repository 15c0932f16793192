import createSodium from "libsodium";

/**
 * What is used of libsodium, on its own heap: the wrappers allocate per call, which costs half the
 * packets per second. Nothing here needs its random numbers, so `sodium_init` is not called; in
 * WebAssembly, the reference implementations are the only ones.
 */
interface Sodium {
  readonly HEAPU8: Uint8Array;
  _malloc(bytes: number): number;
  _crypto_scalarmult(target: number, scalar: number, point: number): number;
  _crypto_scalarmult_base(target: number, scalar: number): number;
  _crypto_aead_chacha20poly1305_ietf_encrypt: Encrypt;
  _crypto_aead_chacha20poly1305_ietf_decrypt: Decrypt;
  _crypto_aead_xchacha20poly1305_ietf_encrypt: Encrypt;
  _crypto_aead_xchacha20poly1305_ietf_decrypt: Decrypt;
}

/** Pointers and lengths. A 64-bit length comes as two halves, the lower one first. */
type Encrypt = (
  ...args: [
    target: number,
    targetLength: number,
    plaintext: number,
    lengthLow: number,
    lengthHigh: number,
    ad: number,
    adLow: number,
    adHigh: number,
    secretNonce: number,
    nonce: number,
    key: number,
  ]
) => number;

type Decrypt = (
  ...args: [
    target: number,
    targetLength: number,
    secretNonce: number,
    ciphertext: number,
    lengthLow: number,
    lengthHigh: number,
    ad: number,
    adLow: number,
    adHigh: number,
    nonce: number,
    key: number,
  ]
) => number;

export const sodium: Sodium = await createSodium();
