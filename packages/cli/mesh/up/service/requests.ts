/** Requests to the service, with a bound on everything that is read from it. */
import { Buffer } from "node:buffer";
import { GivenCredential } from "../../../../agent-files/http/credential.ts";
import type { AgentError } from "../../../../agent-files/errors/agent_error.ts";
import type { Log } from "../basics/log.ts";

/** The longest answer that is read. A configuration of a thousand peers has 0.4 MiB. */
const LONGEST_ANSWER_MIB = 16;
/** How long an answer may take, in seconds, besides the time that it may wait. */
const ANSWER_SECONDS = 15;

/** Where to send requests, and by which key. */
export interface Caller {
  /** The URL of the function, without a slash at its end. */
  readonly url: string;
  readonly key: ConstructorParameters<typeof GivenCredential>[0];
  readonly fetch: typeof fetch;
}

export interface Answered {
  /** 0 if there was no answer. */
  readonly status: number;
  /** The JSON of the answer; undefined if it has none. */
  readonly body: unknown;
  /** How long it took. */
  readonly seconds: number;
  /** In seconds; 0 if the service asked for no pause. */
  readonly retryAfter: number;
  /** Whether the request was cut short by this host. */
  readonly wasCut: boolean;
}

export interface RequestOptions {
  /** How long the service may wait, in seconds. */
  readonly waitSeconds?: number;
  /** Called again and again until the answer is there. Resolves to whether to cut it short. */
  readonly meanwhile?: (answer: Promise<unknown>) => Promise<boolean>;
}

export class Requests {
  readonly #read: () => Promise<Caller>;
  #caller: (Caller & { readonly credential: GivenCredential }) | null = null;
  readonly #log: Log;
  readonly #signal: AbortSignal;

  /** `read`: reads the login, which may have changed. */
  constructor(read: () => Promise<Caller>, { log, signal }: { log: Log; signal: AbortSignal }) {
    this.#read = read;
    this.#log = log;
    this.#signal = signal;
  }

  /** Never throws, except when the agent ends. Logs why there is no usable answer. */
  async post(path: string, body: object, options: RequestOptions = {}): Promise<Answered> {
    const began = performance.now();
    const cut = new AbortController();
    const seconds = ANSWER_SECONDS + (options.waitSeconds ?? 0);
    const timer = setTimeout(() => cut.abort(), seconds * 1000);
    const sent = this.#send(path, body, AbortSignal.any([this.#signal, cut.signal]));
    sent.catch(() => {});
    let wasCut = false;
    try {
      if (await options.meanwhile?.(sent.catch(() => {}))) {
        wasCut = true;
        cut.abort();
      }
      const answer = await sent;
      // Complete, although it should have been cut: use it.
      return { ...answer, seconds: (performance.now() - began) / 1000, wasCut: false };
    } catch (error) {
      this.#signal.throwIfAborted();
      if (!wasCut) this.#log(`${path}: ${reasonOf(error)}`);
      const took = (performance.now() - began) / 1000;
      return { status: 0, body: undefined, seconds: took, retryAfter: 0, wasCut };
    } finally {
      clearTimeout(timer);
    }
  }

  /** Logs what an answer that is not 200 says. */
  logRefusal(path: string, { status, body }: Answered): void {
    const { error } = (body ?? {}) as { error?: { message?: unknown } };
    if (status !== 0) this.#log(`${path}: ${status} ${String(error?.message ?? "")}`.trimEnd());
  }

  async #send(path: string, body: object, signal: AbortSignal) {
    const caller = this.#caller ??= await this.#connect();
    const headers = await caller.credential.headers();
    const answer = await this.#fetch(caller, { path, body, headers, signal });
    if (answer.status !== 401) return answer;
    const refusal = new Error("The service refused the key.") as AgentError;
    const renewed = await caller.credential.renewed(headers, refusal).catch(() => null);
    // The next request uses the login as it is then.
    this.#caller = null;
    if (renewed === null) return answer;
    return await this.#fetch(caller, { path, body, headers: renewed, signal });
  }

  async #connect() {
    const caller = await this.#read();
    return { ...caller, credential: new GivenCredential(caller.key) };
  }

  async #fetch({ url, fetch }: Caller, { path, body, headers, signal }: {
    readonly path: string;
    readonly body: object;
    readonly headers: Readonly<Record<string, string>>;
    readonly signal: AbortSignal;
  }) {
    const response = await fetch(url + path, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(body),
      // Another server would get the key.
      redirect: "error",
      signal,
    });
    const [, digits = "0"] = /^([0-9]{1,4})$/.exec(response.headers.get("retry-after") ?? "") ?? [];
    const text = await boundedText(response);
    return { status: response.status, body: parsed(text), retryAfter: Number(digits) };
  }
}

/** Throws an Error if the text is longer than is accepted. */
async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let left = LONGEST_ANSWER_MIB * 2 ** 20;
  const reader = response.body?.getReader();
  while (reader !== undefined) {
    const { done, value } = await reader.read();
    if (done) break;
    left -= value.length;
    if (left < 0) {
      reader.cancel().catch(() => {});
      throw new Error(`the answer is longer than ${LONGEST_ANSWER_MIB} MiB`);
    }
    chunks.push(value);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function reasonOf(error: unknown): string {
  const { message = "", name = "", cause } = error as Error;
  if (message.startsWith("the answer is longer")) return message;
  if (name === "AbortError") return "no answer";
  const { code } = (cause ?? {}) as { code?: unknown };
  return `no answer (${String(code ?? message)})`;
}
