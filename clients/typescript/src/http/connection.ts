import { AgentError, errorOfAnswer, errorOfFetch, retryAfterOf } from "./agent_error.ts";
import { idleTimeout } from "./idle_timeout.ts";
import { withRetries } from "./retries.ts";

export interface ConnectionOptions {
  /** The project's origin, such as `https://<ref>.supabase.co`. */
  readonly url: string | URL;
  /** An agent key, a signed-in user's token, or the project's secret key for the operator. */
  readonly key: string;
  /** The agent's identifier. The operator names an agent by it; an agent may leave it out. */
  readonly agentId?: string | undefined;
  /** How long a call is repeated that can succeed later, from its first failure. Default: 120. */
  readonly retrySeconds?: number;
  /** Ends every call. */
  readonly signal?: AbortSignal;
  /** Instead of the platform's own. */
  readonly fetch?: typeof fetch;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Default: the connection's. */
  readonly retrySeconds?: number;
}

const DEFAULT_RETRY_SECONDS = 120;
/** Longer than a function may take to answer (150 s), so that its answer is never missed. */
const ANSWER_SECONDS = 160;
/** The same beyond the wait, for an answer that is waited for: a dead connection is found. */
const ANSWER_AFTER_WAIT_SECONDS = 30;

/** An answer with what its headers say of a repetition. */
export interface Answered<Answer> {
  readonly status: number;
  readonly retryAfterSeconds: number;
  readonly answer: Answer;
}

type FunctionName = "agent-artifacts" | "agent-mesh";

/** One function of one project, as one caller. */
export class Connection {
  readonly agentId: string | undefined;
  readonly retrySeconds: number;
  readonly fetch: typeof fetch;
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #signal: AbortSignal | undefined;
  readonly #arguments: readonly [FunctionName, ConnectionOptions];

  constructor(functionName: FunctionName, options: ConnectionOptions) {
    this.#arguments = [functionName, options];
    this.#base = `${new URL(options.url).origin}/functions/v1/${functionName}`;
    // Supabase's gateways take keys of their own, `sb_…`, in `apikey` alone.
    const key = sane(options.key);
    this.#headers = key.startsWith("sb_") ? { apikey: key } : { authorization: `Bearer ${key}` };
    this.agentId = options.agentId;
    this.retrySeconds = options.retrySeconds ?? DEFAULT_RETRY_SECONDS;
    this.#signal = options.signal;
    // Called as a function: browsers refuse `fetch` as the method of another object.
    const given = options.fetch ?? globalThis.fetch;
    this.fetch = (input, init) => given(input, init);
  }

  /** Where a path of the function is. */
  urlOf(path: string): string {
    return this.#base + path;
  }

  /** The same, for what is still to be done when the connection's signal is aborted. */
  withoutSignal(): Connection {
    const [functionName, { signal: _, ...options }] = this.#arguments;
    return new Connection(functionName, options);
  }

  /** The connection's signal and a call's own, as one. */
  signalOf({ signal }: CallOptions): AbortSignal | undefined {
    if (this.#signal === undefined || signal === undefined) return signal ?? this.#signal;
    return AbortSignal.any([this.#signal, signal]);
  }

  /** POSTs to an operation, repeats what can succeed later, and returns the answer's JSON. */
  async post<Answer>(path: string, body: object, options: CallOptions = {}): Promise<Answer> {
    return (await this.postOnce<Answer>(path, body, options)).answer;
  }

  /**
   * As `post`, with the status: an answer may be 202, which says to send the same again. What did
   * not succeed with `wait_seconds` is repeated without: a service that has no room for one more
   * that waits still answers what there is.
   */
  postOnce<Answer>(
    path: string,
    body: object,
    options: CallOptions = {},
  ): Promise<Answered<Answer>> {
    const { wait_seconds, ...rest } = body as { readonly wait_seconds?: number };
    let isFirst = true;
    return this.#repeat(options, async (signal) => {
      const [asked, seconds] = isFirst ? [body, wait_seconds] : [rest, undefined];
      isFirst = false;
      const headers = { "content-type": "application/json" };
      const request = { method: "POST", headers, body: JSON.stringify(asked) };
      const { text, ...answered } = await this.#send(path, request, signal, seconds);
      return { ...answered, answer: parse<Answer>(answered.status, text) };
    });
  }

  /** As `post`, for an operation that also answers with text. */
  postForText(path: string, body: object, options: CallOptions = {}): Promise<string> {
    return this.#repeat(options, async (signal) => {
      const headers = { "content-type": "application/json", accept: "text/plain" };
      const request = { method: "POST", headers, body: JSON.stringify(body) };
      return (await this.#send(path, request, signal)).text;
    });
  }

  get<Answer>(path: string, options: CallOptions = {}): Promise<Answer> {
    return this.#repeat(options, async (signal) => {
      const { status, text } = await this.#send(path, { method: "GET", headers: {} }, signal);
      return parse<Answer>(status, text);
    });
  }

  #repeat<Result>(
    options: CallOptions,
    attempt: (signal: AbortSignal | undefined) => Promise<Result>,
  ): Promise<Result> {
    const signal = this.signalOf(options);
    const seconds = options.retrySeconds ?? this.retrySeconds;
    return withRetries(() => attempt(signal), { seconds, signal });
  }

  async #send(
    path: string,
    request: { readonly headers: Record<string, string> } & RequestInit,
    signal: AbortSignal | undefined,
    waitSeconds?: number,
  ): Promise<Omit<Answered<never>, "answer"> & { readonly text: string }> {
    signal?.throwIfAborted();
    const seconds = waitSeconds === undefined
      ? ANSWER_SECONDS
      : waitSeconds + ANSWER_AFTER_WAIT_SECONDS;
    const timeout = idleTimeout(seconds, signal);
    try {
      const response = await this.fetch(this.urlOf(path), {
        ...request,
        headers: { ...request.headers, ...this.#headers },
        // The key goes nowhere else, and no proxy's page is taken for an answer.
        redirect: "manual",
        signal: timeout.signal,
      });
      const text = await response.text();
      if (!response.ok) throw errorOfAnswer(response, text);
      const retryAfterSeconds = retryAfterOf(response) ?? 0;
      return { status: response.status, retryAfterSeconds, text };
    } catch (cause) {
      throw errorOfFetch(cause, signal);
    } finally {
      timeout.end();
    }
  }
}

/** Throws TypeError for what no header takes, which `fetch` would repeat in its error. */
function sane(key: string): string {
  const trimmed = key.trim();
  if (/^[\x21-\x7e]+$/.test(trimmed)) return trimmed;
  throw new TypeError("The key is empty, or has characters that no key has.");
}

function parse<Answer>(status: number, text: string): Answer {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const message = "The answer is not JSON: is this the address of the service?";
    throw new AgentError({ code: "unexpected_answer", message, status, cause });
  }
}
