import type { KernelPeer } from "./kernel.ts";

/** In milliseconds. A tunnel that has just come up is not one that does not work. */
const PATIENCE = 8000;
/** WireGuard's own: an older session is used no more. */
const SESSION = 180_000;
/** Peers send a keepalive every 25 s, so this is two of them that did not arrive. */
const SILENCE = 55_000;
/** Between two looks, it is longer only if this machine slept. */
const SLEEP = 60_000;
/** Instead of PATIENCE, for a machine that wakes up: it may not be on its network yet. */
const AWAKENING = 20_000;

interface Seen {
  receivedBytes: number;
  heardAt: number;
  /** As the kernel has it, by a clock that may be set. */
  handshake: number | null;
  /** By a clock that goes on. */
  handshakeAt: number;
  /** Null while it works. After a sleep, it is later than that was seen. */
  brokenSince: number | null;
}

/** Tells which peers the tunnel does not work with, from what the kernel says again and again. */
export class PathWatch {
  readonly #seen = new Map<string, Seen>();
  #lookedAt: number | null = null;

  /**
   * `now`: milliseconds of a clock that goes on. `unixTime`: milliseconds since 1970, as the
   * kernel's handshakes have them.
   */
  update(
    peers: readonly KernelPeer[],
    { now, unixTime }: { readonly now: number; readonly unixTime: number },
  ): void {
    const sinceLast = now - (this.#lookedAt ?? now);
    const hasSlept = sinceLast > SLEEP;
    this.#lookedAt = now;
    const present = new Set(peers.map(({ publicKey }) => publicKey));
    for (const publicKey of this.#seen.keys()) {
      if (!present.has(publicKey)) this.#seen.delete(publicKey);
    }
    for (const { publicKey, receivedBytes, lastHandshakeAt: handshake } of peers) {
      const seen = this.#seen.get(publicKey) ?? {
        receivedBytes,
        heardAt: now,
        handshake: null,
        handshakeAt: -Infinity,
        brokenSince: null,
      };
      if (handshake !== null && handshake !== seen.handshake) {
        // It was between the two looks. Of one from before the first, only its own clock tells.
        const age = Math.max(unixTime - handshake, 0);
        seen.handshakeAt = now - (this.#seen.has(publicKey) ? Math.min(age, sinceLast) : age);
      }
      seen.handshake = handshake;
      this.#seen.set(publicKey, seen);
      if (seen.receivedBytes !== receivedBytes) {
        seen.receivedBytes = receivedBytes;
        seen.heardAt = now;
      }
      const hasSession = handshake !== null && now - seen.handshakeAt < SESSION;
      const works = hasSession && now - seen.heardAt < SILENCE;
      if (works) seen.brokenSince = null;
      else if (hasSlept) seen.brokenSince = now + AWAKENING - PATIENCE;
      else seen.brokenSince ??= now;
    }
  }

  works(publicKey: string): boolean {
    return this.#seen.get(publicKey)?.brokenSince === null;
  }

  /** Whether it has not worked for a while. */
  isBroken(publicKey: string, now: number): boolean {
    const since = this.#seen.get(publicKey)?.brokenSince ?? null;
    return since !== null && now - since >= PATIENCE;
  }
}
