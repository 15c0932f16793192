import { SUPABASE_URL } from "../conformance/client.ts";
import { type Host, untilListening } from "./host.ts";

const PORT = 8000;
/** Stands in place of the project's origin for every program of a host that has a door. */
export const SERVICE_ORIGIN = `http://127.0.0.1:${PORT}`;

/**
 * The service as one host reaches it: at a port of its own loopback. From there requests go by a
 * socket in the file system, which namespaces share, so that none crosses the test's internet. A
 * test can see what was asked, and can have it fail.
 */
export class ServiceDoor implements AsyncDisposable {
  /** The path of every request so far. */
  readonly paths: string[] = [];
  readonly #server: Deno.HttpServer;
  #failure: { path: string; answer: () => Response } | null = null;
  #replaced: Readonly<Record<string, object>> = {};
  #failuresGiven = 0;

  private constructor(socket: string) {
    this.#server = Deno.serve({ path: socket, onListen: () => {} }, (request) => {
      this.paths.push(new URL(request.url).pathname);
      const failure = this.#failure;
      const replaced = Object.entries(this.#replaced).find(([path]) => request.url.endsWith(path));
      if (replaced !== undefined) return Response.json(replaced[1]);
      if (failure === null || !request.url.endsWith(failure.path)) return forward(request);
      this.#failuresGiven += 1;
      return failure.answer();
    });
  }

  static async open(host: Host): Promise<ServiceDoor> {
    const socket = `${host.directory}/service.sock`;
    const listener = `TCP-LISTEN:${PORT},bind=127.0.0.1,fork,reuseaddr`;
    host.start(["socat", listener, `UNIX-CONNECT:${socket}`], { logName: "relay" });
    await untilListening(host, { proto: "tcp", port: PORT });
    return new ServiceDoor(socket);
  }

  /** Gives this answer to every request whose path ends like this, until `recover`. */
  failWith(path: string, answer: () => Response): void {
    this.#replaced = {};
    this.#failure = { path, answer };
  }

  /** Gives these answers, by the ends of their paths, instead of the service's. */
  replaceAnswers(answers: Readonly<Record<string, object>>): void {
    this.#replaced = answers;
  }

  /** How often the answer of `failWith` was given. */
  get failuresGiven(): number {
    return this.#failuresGiven;
  }

  recover(): void {
    this.#failure = null;
    this.#replaced = {};
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
