import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { Keypair } from "../../wireguard/crypto/x25519.ts";
import { CookieJar } from "../../wireguard/handshake/cookies.ts";
import { PendingHandshake } from "../../wireguard/handshake/initiator.ts";
import { parseMessage } from "../../wireguard/handshake/messages.ts";
import { Timestamps } from "../../wireguard/handshake/timestamp.ts";
import { formatKey, parseKey } from "../../wireguard/key.ts";
import { Session } from "../../wireguard/session/session.ts";
import type { Endpoint } from "../../wireguard/tunnel.ts";
import type { SimulatedHost, World } from "./simulation.ts";

/** A peer with a valid key that sends whatever it likes in its session. */
export class HostilePeer {
  readonly endpoint: Endpoint = { address: "192.0.2.66", port: 666, via: "udp" };
  readonly #own = new Keypair(randomBytes(32));
  #session: Session | null = null;

  get publicKey(): string {
    return formatKey(this.#own.publicKey);
  }

  connect(world: World, to: SimulatedHost): void {
    const peerPublicKey = parseKey(to.publicKey);
    const sharedSecret = this.#own.agree(peerPublicKey)!;
    const begun = PendingHandshake.begin({ own: this.#own, peerPublicKey, sharedSecret }, {
      localIndex: 66,
      timestamp: new Timestamps().next(world.surroundings.unixTime()),
      ephemeralKey: randomBytes(32),
    })!;
    new CookieJar(peerPublicKey).stamp(begun.message, world.now);
    to.tunnel.receiveDatagram(begun.message, this.endpoint);
    const response = parseMessage(world.sent.at(-1)!.bytes);
    assert.ok(response?.type === 2);
    const options = { own: this.#own, presharedKey: new Uint8Array(32) };
    this.#session = new Session({
      localIndex: 66,
      remoteIndex: response.sender,
      isInitiator: true,
      keys: begun.pending.finish(response, options)!,
      createdAt: world.now,
    });
  }

  /** An authentic message with these bytes inside, and zeros up to a multiple of 16. */
  seal(bytes: Uint8Array): Uint8Array {
    return this.#session!.seal(bytes);
  }
}
