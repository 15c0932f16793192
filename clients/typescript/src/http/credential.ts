import { AgentError } from "./agent_error.ts";

/**
 * An agent key, a signed-in user's token, or the project's secret key for the operator. A function
 * is asked before the first request, and again when the service answers 401.
 */
export type Key = string | (() => string | Promise<string>);

/** The headers that say who is calling. */
export type CredentialHeaders = Readonly<Record<string, string>>;

/** What a connection's requests carry. */
export class Credential {
  readonly #ask: () => Promise<CredentialHeaders>;
  readonly #canChange: boolean;
  #headers: Promise<CredentialHeaders> | null = null;

  /** Throws TypeError for a text that no header takes. */
  constructor(key: Key) {
    this.#canChange = typeof key === "function";
    if (typeof key === "function") {
      this.#ask = () => askFor(key);
    } else {
      const headers = headersOf(key);
      this.#ask = () => Promise.resolve(headers);
    }
  }

  /** Throws AgentError `key_unavailable`. */
  headers(): Promise<CredentialHeaders> {
    return this.#headers ??= this.#askOnce();
  }

  /**
   * The headers to try after `refused` got a 401; null if there are no others. Requests that were
   * refused at the same time share one call of the function. Throws AgentError `key_unavailable`.
   */
  async renewed(refused: CredentialHeaders): Promise<CredentialHeaders | null> {
    if (!this.#canChange) return null;
    const known = this.headers();
    if (await known === refused && this.#headers === known) this.#headers = this.#askOnce();
    const headers = await this.headers();
    return isSame(headers, refused) ? null : headers;
  }

  #askOnce(): Promise<CredentialHeaders> {
    const asked = this.#ask();
    asked.catch(() => {
      if (this.#headers === asked) this.#headers = null;
    });
    return asked;
  }
}

async function askFor(key: Exclude<Key, string>): Promise<CredentialHeaders> {
  try {
    return headersOf(await key());
  } catch (cause) {
    if (cause instanceof AgentError) throw cause;
    const message = "The function that was given as `key` did not return a key.";
    throw new AgentError({ code: "key_unavailable", message, cause });
  }
}

/** Throws TypeError for what no header takes, which `fetch` would repeat in its error. */
function headersOf(text: string): CredentialHeaders {
  const key = text.trim();
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new TypeError("The key is empty, or has characters that no key has.");
  }
  // Supabase's gateways take keys of their own, `sb_…`, in `apikey` alone.
  return key.startsWith("sb_") ? { apikey: key } : { authorization: `Bearer ${key}` };
}

function isSame(one: CredentialHeaders, other: CredentialHeaders): boolean {
  return one["apikey"] === other["apikey"] && one["authorization"] === other["authorization"];
}
