import { detailOf } from "./detail.ts";
import { fetchJson } from "./pinned_request.ts";
import { MOST_KEYS, type PublicKey } from "./trust.ts";

/** The deadline for fetching an issuer's metadata and keys, both together. */
const DEADLINE_MILLISECONDS = 5_000;
const FRESH_MILLISECONDS = 10 * 60_000;
/** How often, at most, an unknown `kid` causes another fetch. */
const UNKNOWN_KEY_MILLISECONDS = 60_000;
/** How long after a failed fetch the issuer is not asked again. */
const FAILURE_MILLISECONDS = 10_000;
/** How long the last fetched keys are used while the issuer is down. */
const STALE_MILLISECONDS = 60 * 60_000;
const MOST_ISSUERS = 64;

interface Known {
  keys: readonly PublicKey[] | null;
  fetchedAt: number;
  askedAt: number;
  /** Why the last fetch failed, for the operator; null: it did not. */
  failure: string | null;
  /** The fetch that is under way. All who need the keys meanwhile wait for it. */
  underWay: Promise<void> | null;
}

export interface IssuerKeysOptions {
  /** Whether http://127.0.0.1 is allowed as an issuer: if the project is on this machine. */
  readonly allowLoopback: boolean;
  /** A clock in milliseconds that never goes back. */
  readonly now?: () => number;
}

/** A cache of the public keys that issuers publish (OpenID Connect Discovery 1.0, 4). */
export class IssuerKeys {
  readonly #known = new Map<string, Known>();
  readonly #now: () => number;

  constructor(private readonly options: IssuerKeysOptions) {
    this.#now = options.now ?? (() => performance.now());
  }

  /**
   * The keys of an issuer that the operator trusts. They are fetched again if they are old, or if
   * `kid` is not among them. Null: the issuer cannot be reached.
   */
  async keysOf(issuer: string, kid: string | undefined): Promise<readonly PublicKey[] | null> {
    const known = this.#remember(issuer);
    if (this.#shouldAsk(known, kid)) known.underWay ??= this.#ask(issuer, known);
    if (known.underWay !== null) await known.underWay;
    const isUsable = this.#now() - known.fetchedAt < STALE_MILLISECONDS;
    return isUsable ? known.keys : null;
  }

  /** Why the last fetch of an issuer's keys failed: which URL was asked, and what came. */
  failureOf(issuer: string): string {
    return this.#known.get(issuer)?.failure ?? "The last keys are more than an hour old.";
  }

  #remember(issuer: string): Known {
    const known = this.#known.get(issuer) ?? {
      keys: null,
      fetchedAt: -Infinity,
      askedAt: -Infinity,
      failure: null,
      underWay: null,
    };
    // Keeps the map in the order of last use, so that its first entry can be dropped.
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

  #shouldAsk({ keys, fetchedAt, askedAt, failure }: Known, kid: string | undefined): boolean {
    const now = this.#now();
    if (failure !== null && now - askedAt < FAILURE_MILLISECONDS) return false;
    if (keys === null || now - fetchedAt >= FRESH_MILLISECONDS) return true;
    const isUnknown = kid !== undefined && !keys.some((key) => key.kid === kid);
    return isUnknown && now - askedAt >= UNKNOWN_KEY_MILLISECONDS;
  }

  async #ask(issuer: string, known: Known): Promise<void> {
    known.askedAt = this.#now();
    try {
      known.keys = await this.#fetchKeys(issuer);
      known.fetchedAt = this.#now();
      known.failure = null;
    } catch (error) {
      known.failure = failureIn(error);
    } finally {
      known.underWay = null;
    }
  }

  async #fetchKeys(issuer: string): Promise<readonly PublicKey[]> {
    const { allowLoopback } = this.options;
    const options = { allowLoopback, signal: AbortSignal.timeout(DEADLINE_MILLISECONDS) };
    const document = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
    const found = await asked("Its document", document, fetchJson(document, options));
    const { issuer: named, jwks_uri } = Object(found) as Record<string, unknown>;
    if (named !== issuer) {
      throw new StepError(`Its document, ${document}, is of the issuer ${quoted(named)}.`);
    }
    if (typeof jwks_uri !== "string") {
      throw new StepError(`Its document, ${document}, has no jwks_uri.`);
    }
    const ofKeys = { ...options, allowQuery: true };
    const set = await asked("Its keys", jwks_uri, fetchJson(jwks_uri, ofKeys));
    const { keys } = Object(set) as Record<string, unknown>;
    if (!Array.isArray(keys)) throw new StepError(`Its keys, ${jwks_uri}, are no set of keys.`);
    if (keys.length > MOST_KEYS) {
      throw new StepError(`Its keys, ${jwks_uri}, are ${keys.length}: at most ${MOST_KEYS}.`);
    }
    return keys.filter((key) => typeof key === "object" && key !== null);
  }
}

/** A step that failed, as a sentence for the operator. */
class StepError extends Error {}

async function asked(what: string, url: string, fetching: Promise<unknown>): Promise<unknown> {
  try {
    return await fetching;
  } catch (error) {
    throw new StepError(`${what}, ${url}: ${String((error as Error)?.message ?? error)}`);
  }
}

function failureIn(error: unknown): string {
  return detailOf(error instanceof StepError ? error.message : "Something else failed.");
}

function quoted(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 200) ?? "undefined";
}
