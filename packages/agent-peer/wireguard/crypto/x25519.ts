import { Buffer } from "node:buffer";
import { KEY, put, take, TEXT, wipe } from "./scratch.ts";
import { sodium } from "./sodium.ts";

/** A private key, which is never printed, with its public key. */
export class Keypair {
  readonly #privateKey: Uint8Array;
  readonly publicKey: Uint8Array;

  /** Keeps a copy of the 32 bytes. */
  constructor(privateKey: Uint8Array) {
    if (privateKey.length !== 32) {
      throw new RangeError("A private key has 32 bytes.");
    }
    // A Buffer's `slice` would share its memory.
    this.#privateKey = new Uint8Array(privateKey);
    put(KEY, this.#privateKey);
    sodium._crypto_scalarmult_base(TEXT, KEY);
    wipe(KEY, 32);
    this.publicKey = take(TEXT, 32);
  }

  /** The shared secret; null for a public key of low order, which gives everyone the same. */
  agree(publicKey: Uint8Array): Uint8Array | null {
    put(KEY, this.#privateKey);
    put(TEXT + 32, publicKey);
    const isSafe = sodium._crypto_scalarmult(TEXT, KEY, TEXT + 32) === 0;
    const secret = isSafe ? take(TEXT, 32) : null;
    wipe(KEY, 32);
    wipe(TEXT, 64);
    return secret;
  }

  destroy(): void {
    this.#privateKey.fill(0);
  }

  /** Without the private key. Private fields are never printed anyway. */
  toJSON(): { readonly publicKey: string } {
    return { publicKey: Buffer.from(this.publicKey).toString("base64") };
  }
}
