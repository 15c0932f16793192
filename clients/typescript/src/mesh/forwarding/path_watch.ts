import type { KernelPeer } from "./kernel.ts";

/** In milliseconds. A tunnel that has just come up is not one that does not work. */
const PATIENCE = 8000;
/** WireGuard's own: an older session is used no more. */
const SESSION = 180_000;
/** Peers send a keepalive every 25 s, so this is two of them that did not arrive. */
const SILENCE = 55_000;

interface Seen {
  receivedBytes: number;
  heardAt: number;
  /** Null while it works. */
  brokenSince: number | null;
}

/** Tells which peers the tunnel does not work with, from what the kernel says again and again. */
export class PathWatch {
  readonly #seen = new Map<string, Seen>();

  /** `now`: milliseconds since 1970, as the kernel's handshakes have them. */
  update(peers: readonly KernelPeer[], now: number): void {
    const present = new Set(peers.map(({ publicKey }) => publicKey));
    for (const publicKey of this.#seen.keys()) {
      if (!present.has(publicKey)) this.#seen.delete(publicKey);
    }
    for (const { publicKey, receivedBytes, lastHandshakeAt } of peers) {
      const seen = this.#seen.get(publicKey) ?? { receivedBytes, heardAt: now, brokenSince: null };
      this.#seen.set(publicKey, seen);
      if (seen.receivedBytes !== receivedBytes) {
        seen.receivedBytes = receivedBytes;
        seen.heardAt = now;
      }
      const hasSession = lastHandshakeAt !== null && now - lastHandshakeAt < SESSION;
      const works = hasSession && now - seen.heardAt < SILENCE;
      seen.brokenSince = works ? null : seen.brokenSince ?? now;
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
