import type { KernelPeer } from "./kernel.ts";

/**
 * In milliseconds. A tunnel that has just come up is not one that does not work. The agent has a
 * handshake sent at once and another after a second. The kernel sends the next one after 5 seconds
 * more, and that one is to go by the ways that are found.
 */
const PATIENCE = 3000;
/** One that had no other way a moment ago: time for the first handshake. */
const SHORT_PATIENCE = 1500;
/** WireGuard's own: an older session is used no more. */
const SESSION = 180_000;
/** Peers send a keepalive every 25 s, so this is two of them that did not arrive. */
const SILENCE = 55_000;
/** Between two looks, it is longer only if this machine slept. */
const SLEEP = 60_000;
/** Instead of PATIENCE, for a machine that wakes up: it may not be on its network yet. */
const AWAKENING = 20_000;
/** For this long, a peer that has vanished is expected back: the tunnel restarts. */
const ABSENCE = 60_000;
/** For this long, one with another key may take its place: both are in one configuration. */
const SUCCESSION = 5000;

interface Seen {
  receivedBytes: number;
  heardAt: number;
  /** As the kernel has it, by a clock that may be set. */
  handshake: number | null;
  /** By a clock that goes on. */
  handshakeAt: number;
  /** Null while it works. After a sleep, it is later than that was seen. */
  brokenSince: number | null;
  /** Whether SHORT_PATIENCE is enough: it was forwarded a moment ago. */
  isExpected: boolean;
}

interface Look {
  /** Milliseconds of a clock that goes on. */
  readonly now: number;
  /** Milliseconds since 1970, as the kernel's handshakes have them. */
  readonly unixTime: number;
  /** The peers whose packets are forwarded. */
  readonly forwarded: readonly string[];
}

/** Tells which peers the tunnel does not work with, from what the kernel says again and again. */
export class PathWatch {
  readonly #seen = new Map<string, Seen>();
  /** Peers that are not there any more. */
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
      if (works) [seen.brokenSince, seen.isExpected] = [null, false];
      else if (hasSlept) {
        [seen.brokenSince, seen.isExpected] = [now + AWAKENING - PATIENCE, false];
      } else seen.brokenSince ??= now;
    }
  }

  /** When the newest handshake was, by the clock that goes on. */
  handshakeAt(publicKey: string): number | null {
    const { handshake = null, handshakeAt = null } = this.#seen.get(publicKey) ?? {};
    return handshake === null ? null : handshakeAt;
  }

  works(publicKey: string): boolean {
    return this.#seen.get(publicKey)?.brokenSince === null;
  }

  /** Whether it has not worked for a while. */
  isBroken(publicKey: string, now: number): boolean {
    const { brokenSince = null, isExpected = false } = this.#seen.get(publicKey) ?? {};
    const patience = isExpected ? SHORT_PATIENCE : PATIENCE;
    return brokenSince !== null && now - brokenSince >= patience;
  }

  /**
   * The new ones that were forwarded before: after a restart of the tunnel, the same again; after
   * a peer's rotation, who is new when that one vanishes. If more are new than have vanished, they
   * may be others.
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
