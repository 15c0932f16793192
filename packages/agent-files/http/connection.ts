import { abortable } from "./abortable.ts";
import { AgentError, errorOfAnswer, invalidFields, retryAfterOf } from "../errors/agent_error.ts";
import {
  type Credential,
  type CredentialHeaders,
  GivenCredential,
  NO_CREDENTIAL,
} from "./credential.ts";
import { type CallerOptions, type CallOptions, originOf } from "./connection_options.ts";
import { enroll } from "./enrolment_proof.ts";
import { enrolledCredential } from "./enrolled_credential.ts";
import { idleTimeout } from "./idle_timeout.ts";
import { errorOfFetch, networkError } from "../errors/network_error.ts";
import { type Retry, withRetries } from "./retries.ts";
import { WaitLength } from "./wait_length.ts";

const DEFAULT_RETRY_SECONDS = 120;
/** Longer than a function may take to answer (150 s), so that no answer is missed. */
const ANSWER_SECONDS = 160;
/** Added to `wait_seconds`. If no answer has arrived by then, the connection is dead. */
const ANSWER_AFTER_WAIT_SECONDS = 30;

/** An answer, with the delay that its `retry-after` asks for. */
export interface Answered<Answer> {
  readonly status: number;
  readonly retryAfterSeconds: number;
  readonly answer: Answer;
}

type FunctionName = "agent-artifacts" | "agent-mesh";

/** A connection of one caller to one function of one project. */
export class Connection {
  readonly agentId: string | undefined;
  readonly retrySeconds: number;
  readonly onRetry: ((retry: Retry) => void) | undefined;
  /** How long requests of this connection wait. */
  readonly waitLength: WaitLength;
  /** Connections with equal values are the same caller at the same project. */
  readonly caller: readonly unknown[];
  /** Becomes false at a deployment without /wait. */
  hasWait = true;
  readonly #base: string;
  readonly #fetch: typeof fetch;
  readonly #credential: Credential;
  /** The origins that have answered a request. */
  readonly #answered = new Set<string>();
  readonly #signal: AbortSignal | undefined;
  readonly #arguments: readonly [FunctionName, CallerOptions];

  /** Throws AgentError `invalid_request` for the URL or the proof, TypeError for the key. */
  constructor(
    functionName: FunctionName,
    options: CallerOptions,
    credential: Credential = credentialOf(functionName, options),
  ) {
    this.#arguments = [functionName, options];
    this.#base = `${originOf(options.url)}/functions/v1/${functionName}`;
    this.#credential = credential;
    this.agentId = options.agentId;
    this.retrySeconds = options.retrySeconds ?? DEFAULT_RETRY_SECONDS;
    this.onRetry = options.onRetry;
    this.#signal = options.signal;
    this.waitLength = new WaitLength(options.waitSeconds);
    const { url, key = credential, agentId, fetch } = options;
    this.caller = [originOf(url), key, agentId, fetch];
    // Called as a function: browsers refuse `fetch` as the method of another object.
    const given = options.fetch ?? globalThis.fetch;
    this.#fetch = (input, init) => given(input, init);
  }

  /** Like the global `fetch`, but throws an AgentError with the URL's origin and the reason. */
  readonly fetch = async (
    url: string,
    init: RequestInit,
  ): Promise<Response> => {
    try {
      const response = await this.#fetch(url, init);
      this.#answered.add(new URL(url).origin);
      return response;
    } catch (cause) {
      if (init.signal?.aborted || cause instanceof AgentError) throw cause;
      const wasAnswered = URL.canParse(url) &&
        this.#answered.has(new URL(url).origin);
      throw networkError(cause, { url, wasAnswered });
    }
  };

  /** The URL of a path of the function. */
  urlOf(path: string): string {
    return this.#base + path;
  }

  /** The same connection without its signal, to clean up after the signal was aborted. */
  withoutSignal(): Connection {
    const [functionName, { signal: _, ...options }] = this.#arguments;
    return new Connection(functionName, options, this.#credential);
  }

  /** The connection's signal and a call's own, as one. */
  signalOf({ signal }: CallOptions): AbortSignal | undefined {
    if (this.#signal === undefined || signal === undefined) {
      return signal ?? this.#signal;
    }
    return AbortSignal.any([this.#signal, signal]);
  }

  /** POSTs to an operation, retries temporary errors, and returns the answer's JSON. */
  async post<Answer>(
    path: string,
    body: object,
    options: CallOptions = {},
  ): Promise<Answer> {
    return (await this.postOnce<Answer>(path, body, options)).answer;
  }

  /**
   * Like `post`, and returns the status: 202 asks to send the same request again. A request that
   * failed with `wait_seconds` is retried without it: a service that cannot hold another wait still
   * answers at once.
   */
  postOnce<Answer>(
    path: string,
    body: object,
    options: CallOptions = {},
  ): Promise<Answered<Answer>> {
    const { wait_seconds, ...rest } = body as {
      readonly wait_seconds?: number;
    };
    let isFirst = true;
    return this.#repeat(options, async (signal) => {
      const [asked, seconds] = isFirst ? [body, wait_seconds] : [rest, undefined];
      isFirst = false;
      const headers = { "content-type": "application/json" };
      const request = { method: "POST", headers, body: JSON.stringify(asked) };
      const { text, ...answered } = await this.#sendToWait(
        path,
        request,
        signal,
        seconds,
      );
      return { ...answered, answer: parse<Answer>(answered.status, text) };
    });
  }

  /** Like `#send`, and learns how long a request can wait. */
  async #sendToWait(
    path: string,
    request: { readonly headers: Record<string, string> } & RequestInit,
    signal: AbortSignal | undefined,
    waitSeconds: number | undefined,
  ): Promise<Omit<Answered<never>, "answer"> & { readonly text: string }> {
    if (!waitSeconds) {
      return await this.#send(path, request, signal, waitSeconds);
    }
    const sentAt = performance.now();
    const elapsedSeconds = () => (performance.now() - sentAt) / 1000;
    try {
      const answered = await this.#send(path, request, signal, waitSeconds);
      this.waitLength.answered(elapsedSeconds());
      return answered;
    } catch (error) {
      if (error instanceof AgentError) {
        this.waitLength.failed(elapsedSeconds(), error);
      }
      throw error;
    }
  }

  /** Like `post`, for an operation that can answer with text. */
  postForText(
    path: string,
    body: object,
    options: CallOptions = {},
  ): Promise<string> {
    return this.#repeat(options, async (signal) => {
      const headers = {
        "content-type": "application/json",
        accept: "text/plain",
      };
      const request = { method: "POST", headers, body: JSON.stringify(body) };
      return (await this.#send(path, request, signal)).text;
    });
  }

  get<Answer>(path: string, options: CallOptions = {}): Promise<Answer> {
    return this.#repeat(options, async (signal) => {
      const { status, text } = await this.#send(path, {
        method: "GET",
        headers: {},
      }, signal);
      return parse<Answer>(status, text);
    });
  }

  #repeat<Result>(
    options: CallOptions,
    attempt: (signal: AbortSignal | undefined) => Promise<Result>,
  ): Promise<Result> {
    const signal = this.signalOf(options);
    const seconds = options.retrySeconds ?? this.retrySeconds;
    return withRetries(() => attempt(signal), {
      seconds,
      signal,
      onRetry: this.onRetry,
    });
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
    const url = this.urlOf(path);
    try {
      const response = await this.#sendAsCaller(url, {
        ...request,
        signal: timeout.signal,
      });
      const text = await response.text();
      if (!response.ok) throw errorOfAnswer(response, text);
      const retryAfterSeconds = retryAfterOf(response) ?? 0;
      return { status: response.status, retryAfterSeconds, text };
    } catch (cause) {
      throw errorOfFetch(cause, { url, signal });
    } finally {
      timeout.end();
    }
  }

  /** Sends a request. After a 401, repeats it with a newer key if one exists. */
  async #sendAsCaller(url: string, request: CallerRequest): Promise<Response> {
    const { signal } = request;
    const send = (credential: CredentialHeaders) =>
      this.fetch(url, {
        ...request,
        headers: { ...request.headers, ...credential },
        // Do not send the key to another address, or take a login page for an answer.
        redirect: "manual",
      });
    const credential = await abortable(this.#credential.headers(), signal);
    const response = await send(credential);
    if (response.status !== 401) return response;
    const text = await response.text();
    const refusal = errorOfAnswer(response, text);
    const renewed = await abortable(
      this.#credential.renewed(credential, refusal),
      signal,
    );
    if (renewed === null) throw refusal;
    return await send(renewed);
  }
}

interface CallerRequest extends RequestInit {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

function credentialOf(
  functionName: FunctionName,
  options: CallerOptions,
): Credential {
  const { key, enrol, ...others } = options;
  if ((key === undefined) === (enrol === undefined)) {
    throw invalidFields([{
      path: "key",
      message: "Give either key or enrol.",
    }]);
  }
  if (enrol === undefined) return new GivenCredential(key);
  // Without the signal: if one caller aborts, another may still wait for the shared key.
  const { signal: _, ...unending } = others;
  const connection = new Connection(
    functionName,
    { ...unending, enrol },
    NO_CREDENTIAL,
  );
  return enrolledCredential({
    enroll: (request) => enroll(connection, request, { retrySeconds: 0 }),
    origin: originOf(options.url),
    enrol,
  });
}

function parse<Answer>(status: number, text: string): Answer {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const message = "The answer is not JSON. Check the URL of the service.";
    throw new AgentError({ code: "unexpected_answer", message, status, cause });
  }
}
