import { fetchJson } from "./fetch_json.ts";
import type { PublicKey } from "./trust.ts";

/** For everything that one question to an issuer takes. */
const DEADLINE_MILLISECONDS = 5_000;
const FRESH_MILLISECONDS = 10 * 60_000;
/** How often a key that is not there makes the issuer be asked again. */
const UNKNOWN_KEY_MILLISECONDS = 60_000;
/** How soon after a failure it is asked again. */
const FAILURE_MILLISECONDS = 10_000;
/** How long the last good keys count while the issuer is down. */
const STALE_MILLISECONDS = 60 * 60_000;
const MOST_ISSUERS = 64;
const MOST_KEYS = 100;

interface Known {
  keys: readonly PublicKey[] | null;
  fetchedAt: number;
  askedAt: number;
  hasFailed: boolean;
  /** Whoever needs the keys meanwhile waits for the same answer. */
  underWay: Promise<void> | null;
}

export interface IssuerKeysOptions {
  /** Issuers at http://127.0.0.1, where the project itself is on this machine. */
  readonly allowLoopback: boolean;
  /** Milliseconds; never goes back. */
  readonly now?: () => number;
}

/** The public keys that issuers publish (OpenID Connect Discovery 1.0, 4), kept for a while. */
export class IssuerKeys {
  readonly #known = new Map<string, Known>();
  readonly #now: () => number;

  constructor(private readonly options: IssuerKeysOptions) {
    this.#now = options.now ?? (() => performance.now());
  }

  /**
   * The keys of an issuer that the operator trusts: those that are kept, or where `kid` is none of
   * them, others if the issuer has them. Null: it cannot be reached.
   */
  async keysOf(issuer: string, kid: string | undefined): Promise<readonly PublicKey[] | null> {
    const known = this.#remember(issuer);
    if (this.#shouldAsk(known, kid)) known.underWay ??= this.#ask(issuer, known);
    if (known.underWay !== null) await known.underWay;
    const isUsable = this.#now() - known.fetchedAt < STALE_MILLISECONDS;
    return isUsable ? known.keys : null;
  }

  #remember(issuer: string): Known {
    const known = this.#known.get(issuer) ?? {
      keys: null,
      fetchedAt: -Infinity,
      askedAt: -Infinity,
      hasFailed: false,
      underWay: null,
    };
    // The one that was asked for longest ago goes first.
    this.#known.delete(issuer);
    this.#known.set(issuer, known);
    if (this.#known.size > MOST_ISSUERS) {
      for (const oldest of this.#known.keys()) {
        this.#known.delete(oldest);
        break;
      }
    }
    return known;
  }

  #shouldAsk({ keys, fetchedAt, askedAt, hasFailed }: Known, kid: string | undefined): boolean {
    const now = this.#now();
    if (hasFailed && now - askedAt < FAILURE_MILLISECONDS) return false;
    if (keys === null || now - fetchedAt >= FRESH_MILLISECONDS) return true;
    const isUnknown = kid !== undefined && !keys.some((key) => key.kid === kid);
    return isUnknown && now - askedAt >= UNKNOWN_KEY_MILLISECONDS;
  }

  async #ask(issuer: string, known: Known): Promise<void> {
    known.askedAt = this.#now();
    try {
      known.keys = await this.#fetchKeys(issuer);
      known.fetchedAt = this.#now();
      known.hasFailed = false;
    } catch {
      // Without the reason: the operator's event says that the issuer could not be asked.
      known.hasFailed = true;
    } finally {
      known.underWay = null;
    }
  }

  async #fetchKeys(issuer: string): Promise<readonly PublicKey[]> {
    const { allowLoopback } = this.options;
    const options = { allowLoopback, signal: AbortSignal.timeout(DEADLINE_MILLISECONDS) };
    const base = issuer.replace(/\/$/, "");
    const found = await fetchJson(`${base}/.well-known/openid-configuration`, options);
    const { issuer: named, jwks_uri } = Object(found) as Record<string, unknown>;
    if (named !== issuer) throw new Error("the document is another issuer's");
    if (typeof jwks_uri !== "string") throw new Error("the document names no keys");
    const { keys } = Object(await fetchJson(jwks_uri, options)) as Record<string, unknown>;
    if (!Array.isArray(keys) || keys.length > MOST_KEYS) throw new Error("that is no set of keys");
    return keys.filter((key) => typeof key === "object" && key !== null);
  }
}
