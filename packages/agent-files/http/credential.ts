import { AgentError } from "../errors/agent_error.ts";

/** A key and its expiry. The next key is requested before that. */
export interface ExpiringKey {
  readonly key: string;
  readonly expiresAt: Date | string;
}

/**
 * An agent key, a signed-in user's token, or the project's secret key for the operator. A function
 * is called before the first request, again before the key expires if it returned an expiry, and
 * again, with the error, when the service answers 401.
 */
export type Key =
  | string
  | ((
    refusal?: AgentError,
  ) => string | ExpiringKey | Promise<string | ExpiringKey>);

/** The headers that say who is calling. */
export type CredentialHeaders = Readonly<Record<string, string>>;

/** The credential that a connection's requests carry. Its methods throw AgentError. */
export interface Credential {
  headers(): Promise<CredentialHeaders>;
  /** The headers to try after `refused` got a 401; null if there are no others. */
  renewed(
    refused: CredentialHeaders,
    refusal: AgentError,
  ): Promise<CredentialHeaders | null>;
}

/** For requests whose body is the proof. */
export const NO_CREDENTIAL: Credential = {
  headers: () => Promise.resolve({}),
  renewed: () => Promise.resolve(null),
};

/** The share of a key's lifetime after which the next key is requested. */
const RENEWED_AFTER = 0.8;
/**
 * The shortest lifetime assumed. Otherwise a wrong clock would ask for a key before each request.
 */
const SHORTEST_LIFE_MILLISECONDS = 60_000;
/** The pause between attempts to replace a key that still works. */
const PAUSE_MILLISECONDS = 15_000;

interface Given {
  readonly headers: CredentialHeaders;
  readonly renewAt: number;
}

/** The credential that the caller gave, or that the caller's function returns. */
export class GivenCredential implements Credential {
  readonly #ask: (refusal?: AgentError) => Promise<Given>;
  readonly #canChange: boolean;
  #given: Promise<Given> | null = null;

  /** Throws TypeError for a text that is not valid in a header. */
  constructor(key: Key) {
    this.#canChange = typeof key === "function";
    if (typeof key === "function") {
      this.#ask = (refusal) => askFor(key, refusal);
    } else {
      const given = givenBy(key);
      this.#ask = () => Promise.resolve(given);
    }
  }

  /** Throws AgentError `key_unavailable`. */
  async headers(): Promise<CredentialHeaders> {
    const present = this.#given ??= this.#askOnce();
    const given = await present;
    if (Date.now() < given.renewAt) return given.headers;
    // Another request that waited for the same key may have asked already.
    if (this.#given === present) this.#given = this.#askEarly(given);
    return (await (this.#given ??= this.#askOnce())).headers;
  }

  /** Requests that were refused at the same time share one call of the function. */
  async renewed(
    refused: CredentialHeaders,
    refusal: AgentError,
  ): Promise<CredentialHeaders | null> {
    if (!this.#canChange) return null;
    const present = this.#given;
    const given = await present;
    if (
      this.#given === present && (given === null || given.headers === refused)
    ) {
      this.#given = this.#askOnce(refusal);
    }
    const { headers } = await (this.#given ??= this.#askOnce(refusal));
    return isSame(headers, refused) ? null : headers;
  }

  #askOnce(refusal?: AgentError): Promise<Given> {
    const asked = this.#ask(refusal);
    asked.catch(() => {
      if (this.#given === asked) this.#given = null;
    });
    return asked;
  }

  /** Asks before the key expires. If that fails, the current key is used a while longer. */
  async #askEarly(given: Given): Promise<Given> {
    try {
      return await this.#ask();
    } catch {
      return { ...given, renewAt: Date.now() + PAUSE_MILLISECONDS };
    }
  }
}

async function askFor(
  key: Exclude<Key, string>,
  refusal: AgentError | undefined,
): Promise<Given> {
  try {
    return givenBy(await (refusal === undefined ? key() : key(refusal)));
  } catch (cause) {
    if (cause instanceof AgentError) throw cause;
    const message = "The function that was given as `key` did not return a key.";
    throw new AgentError({ code: "key_unavailable", message, cause });
  }
}

function givenBy(key: string | ExpiringKey): Given {
  if (typeof key === "string") {
    return { headers: headersOf(key), renewAt: Infinity };
  }
  return { headers: headersOf(key.key), renewAt: renewalOf(key.expiresAt) };
}

/** When to replace a key that was just given, in milliseconds since 1970. */
export function renewalOf(expiresAt: Date | string): number {
  const now = Date.now();
  const told = new Date(expiresAt).getTime() - now;
  const life = Math.max(told || 0, SHORTEST_LIFE_MILLISECONDS);
  return now + RENEWED_AFTER * life;
}

/**
 * Throws TypeError for a text that is not valid in a header. `fetch` would show it in its error.
 */
function headersOf(text: string): CredentialHeaders {
  const key = text.trim();
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new TypeError("The key is empty, or has characters that no key has.");
  }
  // Supabase's gateways accept Supabase's own keys, `sb_…`, only in `apikey`.
  return key.startsWith("sb_") ? { apikey: key } : { authorization: `Bearer ${key}` };
}

function isSame(one: CredentialHeaders, other: CredentialHeaders): boolean {
  return one["apikey"] === other["apikey"] &&
    one["authorization"] === other["authorization"];
}
