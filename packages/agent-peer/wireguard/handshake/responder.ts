import { Keypair } from "../crypto/x25519.ts";
import type { Pair } from "./initiator.ts";
import { type Initiation, writeResponse } from "./messages.ts";
import { NoiseState, type TransportKeys } from "./noise.ts";

/**
 * An initiation that names its sender. Do not trust it before `readTimestamp` proves the sender.
 */
export class ReceivedInitiation {
  readonly #state: NoiseState;
  readonly #message: Initiation;

  private constructor(
    readonly senderPublicKey: Uint8Array,
    state: NoiseState,
    message: Initiation,
  ) {
    this.#state = state;
    this.#message = message;
  }

  /** Null for a message that was not written for this key. */
  static read(message: Initiation, own: Keypair): ReceivedInitiation | null {
    const secret = own.agree(message.ephemeral);
    if (secret === null) return null;
    const state = NoiseState.begin(own.publicKey);
    state.mixChain(message.ephemeral);
    state.mixHash(message.ephemeral);
    state.mixKey(secret);
    secret.fill(0);
    const sender = state.decrypt(message.encryptedStatic);
    return sender === null ? null : new ReceivedInitiation(sender, state, message);
  }

  /** Proves that the sender holds its private key. Null if it does not. */
  readTimestamp({ sharedSecret }: Pair): Uint8Array | null {
    this.#state.mixKey(sharedSecret);
    return this.#state.decrypt(this.#message.encryptedTimestamp);
  }

  /** The answer, without its MACs, and the session's keys. Null for a key of low order. */
  answer(
    { peerPublicKey }: Pair,
    { localIndex, presharedKey, ephemeralKey }: {
      readonly localIndex: number;
      readonly presharedKey: Uint8Array;
      readonly ephemeralKey: Uint8Array;
    },
  ): { message: Uint8Array; keys: TransportKeys } | null {
    const ephemeral = new Keypair(ephemeralKey);
    const byEphemeral = ephemeral.agree(this.#message.ephemeral);
    const byStatic = ephemeral.agree(peerPublicKey);
    ephemeral.destroy();
    if (byEphemeral === null || byStatic === null) return null;
    const state = this.#state;
    state.mixChain(ephemeral.publicKey);
    state.mixHash(ephemeral.publicKey);
    state.mixChain(byEphemeral);
    state.mixChain(byStatic);
    byEphemeral.fill(0);
    byStatic.fill(0);
    state.mixPresharedKey(presharedKey);
    const message = writeResponse({
      sender: localIndex,
      receiver: this.#message.sender,
      ephemeral: ephemeral.publicKey,
      encryptedNothing: state.encrypt(new Uint8Array()),
    });
    return { message, keys: state.split(false) };
  }
}
