/** Stands between one agent's process and the service, and strikes at one of its requests. */

export const MOMENTS = [
  "before the service gets it",
  "while the service answers it",
  "after the service has answered it",
] as const;

export interface Blow {
  /** Which of the process's requests, from 1, counted since the blow was prepared. */
  readonly step: number;
  readonly moment: (typeof MOMENTS)[number];
  readonly strike: () => void;
}

/** Headers that say how a message came, and not what it is. */
const OF_THE_CONNECTION = ["host", "connection", "content-length", "content-encoding"];

const TAKE_ID = /take_[0-9a-f]{32}/g;

export class StrikingProxy implements AsyncDisposable {
  readonly #origin: string;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #closing = new AbortController();
  #blow: Blow | null = null;
  #steps = 0;
  /** The takes that the present process was told of. */
  #takes = new Set<string>();

  constructor(origin: string) {
    this.#origin = origin;
    this.#server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {}, signal: this.#closing.signal },
      (request) => this.#pass(request).catch(() => new Response(null, { status: 502 })),
    );
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** How many requests came since the last blow was prepared. */
  get steps(): number {
    return this.#steps;
  }

  get takes(): string[] {
    return [...this.#takes];
  }

  /** Another process takes the place of the present one. */
  forgetTakes(): void {
    this.#takes = new Set();
  }

  prepare(blow: Blow | null): void {
    this.#blow = blow;
    this.#steps = 0;
  }

  async #pass(request: Request): Promise<Response> {
    const body = await request.arrayBuffer();
    const takes = this.#takes;
    this.#steps += 1;
    const blow = this.#blow?.step === this.#steps ? this.#blow : null;
    if (blow !== null) this.#blow = null;
    if (blow?.moment === "before the service gets it") {
      blow.strike();
      return new Response(null, { status: 502 });
    }
    // What is answered to nobody is answered all the same.
    const signal = blow === null ? request.signal : this.#closing.signal;
    const { pathname, search } = new URL(request.url);
    const answering = fetch(`${this.#origin}${pathname}${search}`, {
      method: request.method,
      headers: without(request.headers),
      ...(body.byteLength > 0 && { body }),
      redirect: "manual",
      signal,
    });
    if (blow?.moment === "while the service answers it") blow.strike();
    // A process that is dead by then is told of nothing.
    const told = blow === null ? takes : new Set<string>();
    const answer = await this.#read(await answering, { pathname, told });
    if (blow?.moment === "after the service has answered it") blow.strike();
    return answer;
  }

  /** The answer, in which the service's URLs lead through here, too. */
  async #read(
    answer: Response,
    { pathname, told }: { readonly pathname: string; readonly told: Set<string> },
  ): Promise<Response> {
    const { status } = answer;
    const headers = without(answer.headers);
    if (!headers.get("content-type")?.startsWith("application/json")) {
      return new Response(await answer.arrayBuffer(), { status, headers });
    }
    const text = await answer.text();
    if (answer.ok && (pathname.endsWith("/inbox/take") || pathname.endsWith("/mcp"))) {
      for (const [takeId] of text.matchAll(TAKE_ID)) told.add(takeId);
    }
    return new Response(text.replaceAll(this.#origin, this.url), { status, headers });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // At once: requests of the last process may still wait for tasks.
    this.#closing.abort();
    await this.#server.finished;
  }
}

function without(headers: Headers): Headers {
  const kept = new Headers(headers);
  for (const name of OF_THE_CONNECTION) kept.delete(name);
  return kept;
}
