import nacl from "tweetnacl";
import { encodeBase64 } from "../../_shared/identity/encryption/base64.ts";

/** Two agents, sorted by the bytes of their identifiers, so that both agents share one PSK. */
export interface AgentPair {
  readonly lowAgent: string;
  readonly highAgent: string;
}

/** A WireGuard preshared key in plain text. Printing or serialising it reveals nothing. */
export class PresharedKey {
  readonly #secretBytes: Uint8Array;

  constructor(secretBytes: Uint8Array) {
    if (secretBytes.length !== 32) throw new TypeError("A preshared key has 32 bytes.");
    this.#secretBytes = secretBytes;
  }

  revealBytes(): Uint8Array {
    return this.#secretBytes;
  }

  /** The text of a `PresharedKey =` line. */
  revealBase64(): string {
    return encodeBase64(this.#secretBytes);
  }
}

export function generatePresharedKey(): PresharedKey {
  return new PresharedKey(nacl.randomBytes(32));
}

/** Identifiers are ASCII, so JavaScript's order of code units is the order of their bytes. */
export function pairOf(oneAgent: string, otherAgent: string): AgentPair {
  return oneAgent < otherAgent
    ? { lowAgent: oneAgent, highAgent: otherAgent }
    : { lowAgent: otherAgent, highAgent: oneAgent };
}
