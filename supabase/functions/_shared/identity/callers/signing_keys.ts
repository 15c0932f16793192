import type { JWK } from "@supabase/supabase-js";
import { ServiceError } from "../../request/errors.ts";
import { fetchWithDeadline } from "../../data/fetch.ts";

/** Auth allows everybody to cache its keys for this long (`cache-control: max-age=600`). */
const MAX_AGE_MILLISECONDS = 600_000;

/** Tokens with made-up key ids cause no more than one fetch in this time. */
const MIN_AGE_MILLISECONDS = 10_000;

/** A cache of the public keys that verify a project's tokens, by key id. */
export class SigningKeys {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #now: () => number;
  #keys: ReadonlyMap<string, JWK> = new Map();
  #fetchedAt = -Infinity;
  #fetching: Promise<void> | null = null;

  /** `url` is the URL of the JWKS. `now` is a clock in milliseconds that never goes back. */
  constructor(
    url: string,
    headers: Readonly<Record<string, string>>,
    now: () => number = () => performance.now(),
  ) {
    this.#url = url;
    this.#headers = headers;
    this.#now = now;
  }

  /**
   * The key with this id, or undefined. Throws upstream_unavailable if the keys have to
   * be fetched and Auth does not answer.
   */
  async find(keyId: string): Promise<JWK | undefined> {
    const age = this.#now() - this.#fetchedAt;
    const mayBeNew = !this.#keys.has(keyId) && age >= MIN_AGE_MILLISECONDS;
    if (mayBeNew || age >= MAX_AGE_MILLISECONDS) {
      this.#fetching ??= this.#fetch().finally(() => this.#fetching = null);
      await this.#fetching;
    }
    return this.#keys.get(keyId);
  }

  async #fetch(): Promise<void> {
    const fetchedAt = this.#now();
    let keys: readonly JWK[];
    try {
      const response = await fetchWithDeadline("auth/jwks", this.#url, { headers: this.#headers });
      const body = await response.text();
      if (!response.ok) throw new Error(`Auth answered ${response.status}`);
      keys = JSON.parse(body).keys;
      this.#keys = new Map(keys.flatMap((key) => key.kid === undefined ? [] : [[key.kid, key]]));
    } catch (cause) {
      throw new ServiceError("upstream_unavailable", { cause });
    }
    this.#fetchedAt = fetchedAt;
  }
}
