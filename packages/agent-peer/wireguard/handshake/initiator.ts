import { Keypair } from "../crypto/x25519.ts";
import { type Response, writeInitiation } from "./messages.ts";
import { NoiseState, type TransportKeys } from "./noise.ts";

/** The keys of a pair of peers that all their handshakes use. */
export interface Pair {
  readonly own: Keypair;
  readonly peerPublicKey: Uint8Array;
  /** The shared secret of the two static keys. */
  readonly sharedSecret: Uint8Array;
}

/** An initiation that was sent and not answered yet. */
export class PendingHandshake {
  readonly #state: NoiseState;
  readonly #ephemeral: Keypair;

  private constructor(
    readonly localIndex: number,
    state: NoiseState,
    ephemeral: Keypair,
  ) {
    this.#state = state;
    this.#ephemeral = ephemeral;
  }

  /** Begins a handshake. The message still lacks its MACs. Null for a peer's key of low order. */
  static begin(
    pair: Pair,
    { localIndex, timestamp, ephemeralKey }: {
      readonly localIndex: number;
      readonly timestamp: Uint8Array;
      readonly ephemeralKey: Uint8Array;
    },
  ): { pending: PendingHandshake; message: Uint8Array } | null {
    const ephemeral = new Keypair(ephemeralKey);
    const secret = ephemeral.agree(pair.peerPublicKey);
    if (secret === null) return null;
    const state = NoiseState.begin(pair.peerPublicKey);
    state.mixChain(ephemeral.publicKey);
    state.mixHash(ephemeral.publicKey);
    state.mixKey(secret);
    secret.fill(0);
    const encryptedStatic = state.encrypt(pair.own.publicKey);
    state.mixKey(pair.sharedSecret);
    const encryptedTimestamp = state.encrypt(timestamp);
    const message = writeInitiation({
      sender: localIndex,
      ephemeral: ephemeral.publicKey,
      encryptedStatic,
      encryptedTimestamp,
    });
    return {
      pending: new PendingHandshake(localIndex, state, ephemeral),
      message,
    };
  }

  /**
   * Returns the session's keys. If the response is not the peer's, returns null and changes
   * nothing.
   */
  finish(
    response: Response,
    { own, presharedKey }: {
      readonly own: Keypair;
      readonly presharedKey: Uint8Array;
    },
  ): TransportKeys | null {
    const byEphemeral = this.#ephemeral.agree(response.ephemeral);
    const byStatic = own.agree(response.ephemeral);
    if (byEphemeral === null || byStatic === null) return null;
    const state = this.#state.copy();
    state.mixChain(response.ephemeral);
    state.mixHash(response.ephemeral);
    state.mixChain(byEphemeral);
    state.mixChain(byStatic);
    byEphemeral.fill(0);
    byStatic.fill(0);
    state.mixPresharedKey(presharedKey);
    if (state.decrypt(response.encryptedNothing) === null) {
      state.destroy();
      return null;
    }
    return state.split(true);
  }

  destroy(): void {
    this.#state.destroy();
    this.#ephemeral.destroy();
  }
}
