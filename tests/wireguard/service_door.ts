import { SUPABASE_URL } from "../conformance/client.ts";

/**
 * The service as one agent reaches it: at a socket in the file system, which namespaces share, so
 * that no packet leaves the test's internet. A test can have it fail.
 */
export class ServiceDoor implements AsyncDisposable {
  readonly #server: Deno.HttpServer;
  #failure: { path: string; answer: () => Response } | null = null;
  #failuresGiven = 0;

  private constructor(socket: string) {
    this.#server = Deno.serve({ path: socket, onListen: () => {} }, (request) => {
      const failure = this.#failure;
      if (failure === null || !request.url.endsWith(failure.path)) return forward(request);
      this.#failuresGiven += 1;
      return failure.answer();
    });
  }

  static open(socket: string): ServiceDoor {
    return new ServiceDoor(socket);
  }

  /** Gives this answer to every request whose path ends like this, until `recover`. */
  failWith(path: string, answer: () => Response): void {
    this.#failure = { path, answer };
  }

  /** How often the answer of `failWith` was given. */
  get failuresGiven(): number {
    return this.#failuresGiven;
  }

  recover(): void {
    this.#failure = null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

async function forward(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  const answer = await fetch(SUPABASE_URL + pathname, {
    method: request.method,
    headers: request.headers,
    body: await request.text(),
  });
  return new Response(await answer.text(), { status: answer.status, headers: answer.headers });
}
