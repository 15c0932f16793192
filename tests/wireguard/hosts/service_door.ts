import { SUPABASE_URL } from "../../conformance/client.ts";
import { type Host, untilListening } from "./host.ts";

const PORT = 8000;
/** Replaces the project's origin for all programs of a host with a door. */
export const SERVICE_ORIGIN = `http://127.0.0.1:${PORT}`;

const WAIT = /"wait_seconds": ?(\d+)/;

/** A host's report about its tunnel to a neighbour. */
export interface Path {
  readonly agent_id: string;
  readonly handshake_age_seconds: number | null;
  readonly endpoint: string | null;
  readonly via: "direct" | "relay" | "none";
}

/**
 * The service as one host reaches it: on a port of its own loopback interface. The door forwards
 * requests through a socket in the file system, which namespaces share, so no request crosses the
 * test's internet. A test can observe the requests and make them fail.
 */
export class ServiceDoor implements AsyncDisposable {
  /** The paths of all requests so far. */
  readonly paths: string[] = [];
  /** When these requests arrived, in milliseconds. */
  readonly times: number[] = [];
  /** The bodies of all heartbeats so far, including those of /wait. */
  readonly heartbeats: { readonly paths?: readonly Path[] }[] = [];
  /** The `wait_seconds` of all requests so far that had it. */
  readonly waits: number[] = [];
  /** All requests so far, each with its path, headers and body in one text. */
  readonly texts: string[] = [];
  readonly #server: Deno.HttpServer;
  readonly #closing = new AbortController();
  #waitsAre: "kept" | "ignored" | "refused" = "kept";
  #waitsAnswered = 0;
  #failure: { path: string; answer: () => Response } | null = null;
  #replaced: Readonly<Record<string, object>> = {};
  #failuresGiven = 0;
  #lacksWait = false;
  #refusesPaths = false;
  #waitsMissed = 0;
  readonly #origin: string;
  readonly #meshFunction: string | undefined;

  private constructor(
    socket: string,
    { origin, meshFunction }: { readonly origin: string; readonly meshFunction?: string },
  ) {
    this.#origin = origin;
    this.#meshFunction = meshFunction;
    this.#server = Deno.serve({ path: socket, onListen: () => {} }, async (request) => {
      this.paths.push(new URL(request.url).pathname);
      this.times.push(performance.now());
      const body = await request.text();
      this.texts.push(JSON.stringify([request.url, ...request.headers, body]));
      if (/\/(wait|heartbeat)$/.test(request.url)) this.heartbeats.push(JSON.parse(body));
      const wait = WAIT.exec(body)?.[1];
      if (wait !== undefined) this.waits.push(Number(wait));
      if (this.#lacksWait && request.url.endsWith("/wait")) {
        this.#waitsMissed += 1;
        return Response.json({ error: { code: "not_found", message: "?" } }, { status: 404 });
      }
      if (this.#refusesPaths && body.includes('"paths"')) return new Response("", { status: 422 });
      const failure = this.#failure;
      const replaced = Object.entries(this.#replaced).find(([path]) => request.url.endsWith(path));
      if (replaced !== undefined) return Response.json(replaced[1]);
      if (failure !== null && request.url.endsWith(failure.path)) {
        this.#failuresGiven += 1;
        return failure.answer();
      }
      if (wait === undefined) return this.#forward(request, body);
      if (this.#waitsAre === "refused") return new Response("", { status: 422 });
      const sent = this.#waitsAre === "kept" ? body : body.replace(WAIT, '"unknown": 0');
      const answer = await this.#forward(request, sent);
      this.#waitsAnswered += 1;
      return answer;
    });
  }

  /**
   * Opens a door. `origin`: the origin of the project; by default, of the project under test.
   * `meshFunction`: the URL of an agent-mesh that answers instead of the project's own.
   */
  static async open(
    host: Host,
    { origin = SUPABASE_URL, ...options }: {
      readonly origin?: string;
      readonly meshFunction?: string;
    } = {},
  ): Promise<ServiceDoor> {
    const socket = `${host.directory}/service.sock`;
    const listener = `TCP-LISTEN:${PORT},bind=127.0.0.1,fork,reuseaddr,backlog=1024`;
    host.start(["socat", listener, `UNIX-CONNECT:${socket}`], { logName: "relay" });
    await untilListening(host, { proto: "tcp", port: PORT });
    return new ServiceDoor(socket, { origin, ...options });
  }

  /** Gives this answer to every request whose path ends with `path`, until `recover`. */
  failWith(path: string, answer: () => Response): void {
    this.#replaced = {};
    this.#failure = { path, answer };
  }

  /** Replaces the service's answers to paths that end with these keys. */
  replaceAnswers(answers: Readonly<Record<string, object>>): void {
    this.#replaced = answers;
  }

  /** How often the answer of `failWith` was given. */
  get failuresGiven(): number {
    return this.#failuresGiven;
  }

  /**
   * From now on, acts as a service that does not know `wait_seconds`, and ignores or refuses it.
   */
  stopWaits(how: "ignored" | "refused"): void {
    this.#waitsAre = how;
  }

  /** From now on, acts as a service that does not know `paths`, and refuses it. */
  refusePaths(): void {
    this.#refusesPaths = true;
  }

  /** From now on, acts as a service from before /wait existed. */
  lackWait(): void {
    this.#lacksWait = true;
  }

  /** How often /wait was called since `lackWait`. */
  get waitsMissed(): number {
    return this.#waitsMissed;
  }

  /** How many requests so far had a path that ends with `path`. */
  countOf(path: string): number {
    return this.paths.filter((each) => each.endsWith(path)).length;
  }

  /** How many requests with `wait_seconds` the service has answered. */
  get waitsAnswered(): number {
    return this.#waitsAnswered;
  }

  recover(): void {
    this.#failure = null;
    this.#replaced = {};
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Answers the waiting requests with 503.
    this.#closing.abort();
    await this.#server.shutdown();
  }

  async #forward(request: Request, body: string): Promise<Response> {
    const headers = new Headers(request.headers);
    headers.delete("content-length");
    const { pathname } = new URL(request.url);
    const { method } = request;
    const { signal } = this.#closing;
    try {
      const sent = { method, headers, signal, ...(method !== "GET" && { body }) };
      const answer = await fetch(this.#urlOf(pathname), sent);
      return new Response(await answer.text(), { status: answer.status, headers: answer.headers });
    } catch (error) {
      if (!signal.aborted) throw error;
      return new Response("", { status: 503 });
    }
  }

  #urlOf(path: string): string {
    const [, ofMesh] = /^\/functions\/v1(\/agent-mesh\/.*)/.exec(path) ?? [];
    return ofMesh !== undefined && this.#meshFunction !== undefined
      ? this.#meshFunction + ofMesh
      : this.#origin + path;
  }
}
