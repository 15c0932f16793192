import type { KernelPeer } from "./kernel.ts";

/**
 * How long a tunnel to a peer may not work before it counts as broken, in milliseconds: when it
 * comes up, it needs time for a handshake. The agent triggers one at once and another after a
 * second. The kernel sends the next one after 5 seconds more, which should already use the paths
 * that are found here.
 */
const PATIENCE = 3000;
/** The same for a peer that was forwarded a moment ago: time for the first handshake. */
const SHORT_PATIENCE = 1500;
/**
 * How long a path is sought before it counts as missing, in milliseconds. The other side has to
 * register its endpoints first. To open a relay takes longer.
 */
const SEARCH = { withoutRelay: 10_000, withRelay: 20_000 };
/** WireGuard's own limit: it does not use older sessions. */
const SESSION = 180_000;
/** Peers send a keepalive every 25 s, so two of them are missing after this time. */
const SILENCE = 55_000;
/** More time than this passes between two updates only if this machine slept. */
const SLEEP = 60_000;
/** Replaces PATIENCE when this machine wakes up: it may not be on its network yet. */
const AWAKENING = 20_000;
/** How long a vanished peer is expected back, because the tunnel may be restarting. */
const ABSENCE = 60_000;
/** How long a new public key may replace a vanished one. One configuration brings both changes. */
const SUCCESSION = 5000;

interface Seen {
  receivedBytes: number;
  heardAt: number;
  /** The newest handshake, as the kernel reports it: by the wall clock, which may be set. */
  handshake: number | null;
  /** The same, by the clock that never goes back. */
  handshakeAt: number;
  /** Null while the tunnel works. After a sleep, it is in the future, to wait longer. */
  brokenSince: number | null;
  /** Whether SHORT_PATIENCE is enough, because the peer was forwarded a moment ago. */
  isExpected: boolean;
}

interface Look {
  /** Milliseconds of a clock that never goes back. */
  readonly now: number;
  /** Milliseconds since 1970, by the clock of the kernel's handshakes. */
  readonly unixTime: number;
  /** The peers whose packets are forwarded. */
  readonly forwarded: readonly string[];
}

/**
 * Tells which peers the tunnel does not work with, from repeated readings of the kernel's state.
 */
export class PathWatch {
  readonly #seen = new Map<string, Seen>();
  /** Peers that have vanished. */
  readonly #absent = new Map<string, { readonly since: number; readonly wasForwarded: boolean }>();
  #lookedAt: number | null = null;

  update(peers: readonly KernelPeer[], { now, unixTime, forwarded }: Look): void {
    const sinceLast = now - (this.#lookedAt ?? now);
    const hasSlept = sinceLast > SLEEP;
    this.#lookedAt = now;
    const present = new Set(peers.map(({ publicKey }) => publicKey));
    for (const publicKey of this.#seen.keys()) {
      if (present.has(publicKey)) continue;
      this.#seen.delete(publicKey);
      this.#absent.set(publicKey, { since: now, wasForwarded: forwarded.includes(publicKey) });
    }
    const expected = this.#expected(present, now);
    for (const { publicKey, receivedBytes, lastHandshakeAt: handshake } of peers) {
      const seen = this.#seen.get(publicKey) ?? {
        receivedBytes,
        heardAt: now,
        handshake: null,
        handshakeAt: -Infinity,
        brokenSince: null,
        isExpected: expected.has(publicKey),
      };
      if (handshake !== null && handshake !== seen.handshake) {
        // The handshake is newer than the last update, which limits its age. When a peer is first
        // seen, only the wall clock tells the age.
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
      if (works) [seen.brokenSince, seen.isExpected] = [null, false];
      else if (hasSlept) {
        [seen.brokenSince, seen.isExpected] = [now + AWAKENING - PATIENCE, false];
      } else seen.brokenSince ??= now;
    }
  }

  /** When the newest handshake was, by the clock that never goes back. */
  handshakeAt(publicKey: string): number | null {
    const { handshake = null, handshakeAt = null } = this.#seen.get(publicKey) ?? {};
    return handshake === null ? null : handshakeAt;
  }

  works(publicKey: string): boolean {
    return this.#seen.get(publicKey)?.brokenSince === null;
  }

  /** The peers whose tunnel has not worked for less than the time of SEARCH. */
  sought({ now, hasRelay }: { readonly now: number; readonly hasRelay: boolean }): string[] {
    const search = hasRelay ? SEARCH.withRelay : SEARCH.withoutRelay;
    return [...this.#seen].flatMap(([publicKey, { brokenSince }]) =>
      brokenSince !== null && now - brokenSince < search ? [publicKey] : []
    );
  }

  /** Whether the tunnel to the peer has not worked for a while. */
  isBroken(publicKey: string, now: number): boolean {
    const { brokenSince = null, isExpected = false } = this.#seen.get(publicKey) ?? {};
    const patience = isExpected ? SHORT_PATIENCE : PATIENCE;
    return brokenSince !== null && now - brokenSince >= patience;
  }

  /**
   * The new peers that were forwarded before. After a restart of the tunnel, these are the same
   * public keys; after a peer's key rotation, the key that appears when the old one vanishes. If
   * more keys are new than have vanished, they may belong to other peers, and do not count.
   */
  #expected(present: ReadonlySet<string>, now: number): ReadonlySet<string> {
    for (const [publicKey, { since }] of this.#absent) {
      if (now - since > ABSENCE) this.#absent.delete(publicKey);
    }
    const added = [...present].filter((publicKey) => !this.#seen.has(publicKey));
    const back = added.filter((publicKey) => this.#absent.get(publicKey)?.wasForwarded);
    const others = added.filter((publicKey) => !this.#absent.delete(publicKey));
    const lost = [...this.#absent].filter(([, { since, wasForwarded }]) =>
      wasForwarded && now - since <= SUCCESSION
    );
    if (others.length > lost.length) return new Set(back);
    for (const [publicKey] of lost.slice(0, others.length)) this.#absent.delete(publicKey);
    return new Set([...back, ...others]);
  }
}
