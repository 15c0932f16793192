/** A forward proxy: CONNECT for https, absolute URLs for http. It counts the bytes it receives. */
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";

export class ForwardProxy implements AsyncDisposable {
  /** Each request, as `CONNECT host:port` or `GET http://host:port`. */
  readonly asked: string[] = [];
  /** The number of requests without the right credential. */
  refused = 0;
  bytes = 0;
  readonly #server = createServer();
  readonly #sockets = new Set<Socket>();

  /** `hosts` maps names that only the proxy knows to local ports. */
  private constructor(
    readonly hosts: Readonly<Record<string, number>>,
    readonly credential: string | null,
  ) {
    this.#server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.on("data", (chunk: Uint8Array) => this.bytes += chunk.byteLength);
      socket.on("close", () => this.#sockets.delete(socket));
      socket.on("error", () => {});
    });
    this.#server.on("connect", (asked: IncomingMessage, socket: Socket) => {
      this.asked.push(`CONNECT ${asked.url}`);
      if (this.#isAllowed(asked)) this.#tunnel(asked.url ?? "", socket);
      else socket.end("HTTP/1.1 407 Who are you\r\n\r\n");
    });
    this.#server.on("request", (asked: IncomingMessage, answer: ServerResponse) => {
      const url = new URL(asked.url!);
      this.asked.push(`${asked.method} ${url.origin}`);
      if (this.#isAllowed(asked)) this.#pass(asked, url, answer);
      else answer.writeHead(407).end();
    });
  }

  #tunnel(address: string, socket: Socket): void {
    const [host = "", port] = address.split(":");
    const to = connect(this.hosts[host] ?? Number(port), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      socket.pipe(to).pipe(socket);
      to.on("data", (chunk: Uint8Array) => this.bytes += chunk.byteLength);
    });
    this.#sockets.add(to);
    to.on("error", () => socket.destroy());
    socket.on("close", () => to.destroy());
    to.on("close", () => this.#sockets.delete(to));
  }

  #pass(asked: IncomingMessage, url: URL, answer: ServerResponse): void {
    const port = this.hosts[url.hostname] ?? Number(url.port);
    const { "proxy-authorization": _, ...headers } = asked.headers;
    const passed = request({
      host: "127.0.0.1",
      port,
      path: url.pathname + url.search,
      method: asked.method!,
      headers,
    }, (response) => {
      answer.writeHead(response.statusCode!, response.headers);
      response.on("data", (chunk: Uint8Array) => this.bytes += chunk.byteLength);
      response.pipe(answer);
    });
    passed.on("error", () => answer.destroy());
    asked.on("data", (chunk: Uint8Array) => this.bytes += chunk.byteLength);
    asked.pipe(passed);
  }

  static async start(
    { hosts = {}, credential = null }: {
      readonly hosts?: Readonly<Record<string, number>>;
      /** `name:password`. */
      readonly credential?: string | null;
    } = {},
  ): Promise<ForwardProxy> {
    const proxy = new ForwardProxy(hosts, credential);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  #isAllowed({ headers }: IncomingMessage): boolean {
    const right = this.credential === null ||
      headers["proxy-authorization"] === `Basic ${btoa(this.credential)}`;
    if (!right) this.refused++;
    return right;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
