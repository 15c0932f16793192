import createSodium from "libsodium";

/**
 * The functions of libsodium that are used here, called directly on its heap: its wrappers allocate
 * per call, which costs half the packets per second. `sodium_init` is not called, because nothing
 * here needs its random numbers, and WebAssembly has only the reference implementations.
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
