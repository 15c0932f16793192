import { invalidFields } from "../errors/agent_error.ts";
import type { Key } from "./credential.ts";
import type { Enrol } from "./enrol.ts";
import type { Retry } from "./retries.ts";

/** How requests are sent, whoever sends them. */
export interface CommonOptions {
  /** The project's origin, such as `https://<ref>.supabase.co`. */
  readonly url: string | URL;
  /** The agent's identifier. The operator names an agent by it; an agent may leave it out. */
  readonly agentId?: string | undefined;
  /** How long a temporary error is retried, from the first failure. 0: never. Default: 120. */
  readonly retrySeconds?: number;
  /** Called before each pause between two attempts, such as to tell a person. */
  readonly onRetry?: (retry: Retry) => void;
  /** Aborts every call. */
  readonly signal?: AbortSignal;
  /** Takes the place of the platform's own, such as to use a proxy. */
  readonly fetch?: typeof fetch;
  /**
   * How long one request waits for news at most, 1 to 140. With less, an agent that died is noticed
   * sooner, and more requests are sent. Default: 140.
   */
  readonly waitSeconds?: number;
}

export interface ConnectionOptions extends CommonOptions {
  /**
   * An agent key, a signed-in user's token, or the project's secret key for the operator. If it
   * expires, pass a function that returns the present one: it is called before the first request,
   * and once more, with the error, when the service answers a request with 401.
   */
  readonly key: Key;
  readonly enrol?: undefined;
}

export interface EnrolOptions extends CommonOptions {
  /**
   * What to get an agent key with: before the first request, and again before the key ends.
   * Connections of one process with the same proof share the key.
   */
  readonly enrol: Enrol;
  readonly key?: undefined;
}

/** By what the caller is known: a key, or a proof of origin. */
export type CallerOptions = ConnectionOptions | EnrolOptions;

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Default: the connection's. */
  readonly retrySeconds?: number;
}

/** The origin of a project's URL. Throws AgentError `invalid_request`. */
export function originOf(url: string | URL): string {
  if (URL.canParse(url)) {
    const { origin, protocol } = new URL(url);
    if (protocol === "https:" || protocol === "http:") return origin;
  }
  // A key in its place stays out of logs.
  const isKey = /^(?:ak_|sb_|eyJ)/.test(String(url));
  const given = isKey ? "a key" : JSON.stringify(url);
  const message = `Must be a URL such as https://<ref>.supabase.co, and not ${given}.`;
  throw invalidFields([{ path: "url", message }]);
}
