import { invalidFields } from "../errors/agent_error.ts";
import type { Key } from "./credential.ts";
import type { Enrol } from "./enrolment_proof.ts";
import type { Retry } from "./retries.ts";

/** How requests are sent, for every kind of caller. */
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
  /** Replaces the platform's `fetch`, for example to use a proxy. */
  readonly fetch?: typeof fetch;
  /**
   * How long one request waits for news at most, in seconds from 1 to 140. With shorter waits, a
   * dead agent is noticed sooner, but more requests are sent. Default: 140.
   */
  readonly waitSeconds?: number;
}

export interface ConnectionOptions extends CommonOptions {
  /**
   * An agent key, a signed-in user's token, or the project's secret key for the operator. If the
   * key expires, pass a function that returns the current one. It is called before the first
   * request, and again, with the error, when the service answers a request with 401.
   */
  readonly key: Key;
  readonly enrol?: undefined;
}

export interface EnrolOptions extends CommonOptions {
  /**
   * The proof to get an agent key with, before the first request and again before the key expires.
   * Connections of one process with the same proof share the key.
   */
  readonly enrol: Enrol;
  readonly key?: undefined;
}

/** How the caller authenticates: by a key, or by a proof of origin. */
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
  // If someone passed a key as the URL, keep it out of logs.
  const isKey = /^(?:ak_|sb_|eyJ)/.test(String(url));
  const given = isKey ? "a key" : JSON.stringify(url);
  const message = `Must be a URL such as https://<ref>.supabase.co, and not ${given}.`;
  throw invalidFields([{ path: "url", message }]);
}
