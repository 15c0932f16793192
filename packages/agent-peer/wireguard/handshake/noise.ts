import { open, seal } from "../crypto/aead.ts";
import { deriveKeys, hash } from "../crypto/hash.ts";

const encoder = new TextEncoder();
const CONSTRUCTION = hash(
  encoder.encode("Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s"),
);
const IDENTIFIED = hash(
  CONSTRUCTION,
  encoder.encode("WireGuard v1 zx2c4 Jason@zx2c4.com"),
);

/** The two keys of a session, from the point of view of the side that holds them. */
export interface TransportKeys {
  readonly send: Uint8Array;
  readonly receive: Uint8Array;
}

/** The chaining key and the hash of a handshake (section 5.4 of the WireGuard paper). */
export class NoiseState {
  #chainingKey: Uint8Array;
  #hash: Uint8Array;
  #key: Uint8Array = new Uint8Array(32);

  private constructor(chainingKey: Uint8Array, hashed: Uint8Array) {
    this.#chainingKey = chainingKey;
    this.#hash = hashed;
  }

  static begin(responderPublicKey: Uint8Array): NoiseState {
    return new NoiseState(
      CONSTRUCTION.slice(),
      hash(IDENTIFIED, responderPublicKey),
    );
  }

  /** A copy for a message that may be forged, so that the genuine one can still be tried later. */
  copy(): NoiseState {
    return new NoiseState(this.#chainingKey.slice(), this.#hash.slice());
  }

  mixHash(bytes: Uint8Array): void {
    this.#hash = hash(this.#hash, bytes);
  }

  /** Mixes input into the chaining key, without deriving a key to encrypt with. */
  mixChain(input: Uint8Array): void {
    const [chainingKey] = deriveKeys(this.#chainingKey, { input, count: 1 });
    this.#replace(chainingKey, this.#key);
  }

  mixKey(input: Uint8Array): void {
    const [chainingKey, key] = deriveKeys(this.#chainingKey, {
      input,
      count: 2,
    });
    this.#replace(chainingKey, key);
  }

  mixPresharedKey(presharedKey: Uint8Array): void {
    const keys = deriveKeys(this.#chainingKey, {
      input: presharedKey,
      count: 3,
    });
    const [chainingKey, toHash, key] = keys;
    this.mixHash(toHash);
    toHash.fill(0);
    this.#replace(chainingKey, key);
  }

  encrypt(plaintext: Uint8Array): Uint8Array {
    const ciphertext = seal(plaintext, {
      key: this.#key,
      counter: 0,
      ad: this.#hash,
    });
    this.mixHash(ciphertext);
    return ciphertext;
  }

  /** If the ciphertext is not authentic, returns null and mixes nothing. */
  decrypt(ciphertext: Uint8Array): Uint8Array | null {
    const plaintext = open(ciphertext, {
      key: this.#key,
      counter: 0,
      ad: this.#hash,
    });
    if (plaintext !== null) this.mixHash(ciphertext);
    return plaintext;
  }

  /** Returns the session's keys, and destroys this state. */
  split(isInitiator: boolean): TransportKeys {
    const input = new Uint8Array();
    const [first, second] = deriveKeys(this.#chainingKey, { input, count: 2 });
    this.destroy();
    return isInitiator ? { send: first, receive: second } : { send: second, receive: first };
  }

  destroy(): void {
    this.#chainingKey.fill(0);
    this.#key.fill(0);
  }

  #replace(chainingKey: Uint8Array, key: Uint8Array): void {
    this.#chainingKey.fill(0);
    this.#chainingKey = chainingKey;
    if (key !== this.#key) this.#key.fill(0);
    this.#key = key;
  }
}
