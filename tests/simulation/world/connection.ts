/** A connection to somebody outside, such as the receiver of a webhook. */

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** What code reads and writes of a connection; the simulator needs no more of `Deno.Conn`. */
type Used = Pick<Deno.Conn, "read" | "write" | "close">;

const HEAD_END = "\r\n\r\n";

/**
 * A TCP or TLS connection that carries one HTTP request. As soon as the whole request is written,
 * `fetch` carries it. The answer's status line can be read after that.
 */
export class HttpConnection implements Used {
  readonly #closed = new AbortController();
  #written = "";
  #answer: Promise<Uint8Array> | null = null;
  #isSecure = false;

  constructor(private readonly fetch: Fetch) {}

  secured(): this {
    this.#isSecure = true;
    return this;
  }

  write(bytes: Uint8Array): Promise<number> {
    this.#closed.signal.throwIfAborted();
    this.#written += new TextDecoder().decode(bytes);
    const end = this.#written.indexOf(HEAD_END);
    if (end >= 0 && this.#answer === null) {
      const body = this.#written.slice(end + HEAD_END.length);
      const [first = "", ...lines] = this.#written.slice(0, end).split("\r\n");
      const headers = new Headers(lines.map((line) => line.split(/: (.*)/, 2) as [string, string]));
      const length = Number(headers.get("content-length"));
      if (new TextEncoder().encode(body).length === length) {
        this.#answer = this.#send(first, headers, body);
        // `read` tells of a failure; without one, nobody is told.
        this.#answer.catch(() => {});
      }
    }
    return Promise.resolve(bytes.length);
  }

  async read(into: Uint8Array): Promise<number | null> {
    if (this.#answer === null) throw new Error("Nothing was asked.");
    const bytes = await this.#answer;
    into.set(bytes);
    return bytes.length;
  }

  close(): void {
    this.#closed.abort(new Error("The connection is closed."));
  }

  async #send(first: string, headers: Headers, body: string): Promise<Uint8Array> {
    const [method = "", path = ""] = first.split(" ");
    const url = `${this.#isSecure ? "https" : "http"}://${headers.get("host")}${path}`;
    const { signal } = this.#closed;
    const { status } = await this.fetch(url, { method, headers, body, signal });
    return new TextEncoder().encode(`HTTP/1.1 ${status} \r\n${HEAD_END}`);
  }
}
