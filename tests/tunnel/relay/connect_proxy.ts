import { connect, createServer, type Socket } from "node:net";

/** An HTTP proxy that supports only CONNECT, with a user and a password. */
export class ConnectProxy implements AsyncDisposable {
  readonly targets: string[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((socket) => this.#serve(socket));

  static async start(): Promise<ConnectProxy> {
    const proxy = new ConnectProxy();
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  get url(): URL {
    const { port } = this.#server.address() as { port: number };
    return new URL(`http://agent:pass%20word@127.0.0.1:${port}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => {});
    socket.once("data", (head) => {
      const [, target] = /^CONNECT (\S+) HTTP\/1\.1\r\n/.exec(head.toString()) ?? [];
      const expected = `Basic ${btoa("agent:pass word")}`;
      if (
        !target ||
        !head.toString().includes(`Proxy-Authorization: ${expected}\r\n`)
      ) {
        socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
        return;
      }
      this.targets.push(target);
      const [host = "", port] = target.split(":");
      const server = connect({ host, port: Number(port) }, () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        socket.pipe(server).pipe(socket);
      });
      this.#sockets.add(server);
      server.on("error", () => socket.destroy());
    });
  }
}
