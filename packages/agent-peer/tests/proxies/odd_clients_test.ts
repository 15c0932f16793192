/** Clients of the HTTP proxy that send early, end early, or go on after an early answer. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { connect, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { httpProxyServer } from "../../mesh/proxies/http_proxy.ts";
import { exchange, httpPeer, withServer } from "./proxy_clients.ts";

const UPGRADE = "Connection: Upgrade\r\nUpgrade: ";

/** A service that answers each connection's first bytes with what the test says, when it does. */
function slowPeer() {
  const connections: { readonly stream: Duplex; received: string }[] = [];
  const dial = () => {
    const connection = {
      received: "",
      stream: new Duplex({
        read: () => {},
        write(chunk: Uint8Array, _encoding, done) {
          connection.received += Buffer.from(chunk).toString("latin1");
          done();
        },
      }),
    };
    connections.push(connection);
    return Promise.resolve(connection.stream);
  };
  return { dial, connections };
}

async function until(condition: () => boolean): Promise<void> {
  const end = Date.now() + 5000;
  while (!condition()) {
    assert.ok(Date.now() < end, "It has not come.");
    await setTimeout(1);
  }
}

/** What a client has received, and how its connection ended. */
class Client {
  readonly socket: Socket;
  received = "";
  how = "open";

  constructor(port: number) {
    this.socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    this.socket.on("data", (chunk) => this.received += chunk.toString("latin1"));
    this.socket.on("end", () => this.how = "end");
    this.socket.on("error", ({ code }: NodeJS.ErrnoException) => this.how = code!);
  }
}

Deno.test("a client that ends its side while the answer is under way → a reset: half of an answer never looks like all of it", async () => {
  const peer = slowPeer();
  await withServer(httpProxyServer(peer.dial, null), async (port) => {
    const client = new Client(port);
    client.socket.write("GET http://builder/ HTTP/1.0\r\n\r\n");
    await until(() => peer.connections[0]?.received !== undefined);
    await until(() => peer.connections[0]!.received !== "");
    peer.connections[0]!.stream.push("HTTP/1.1 200 OK\r\n\r\nfirst");
    await until(() => client.received.endsWith("first"));
    client.socket.end();
    await until(() => client.how !== "open");
    assert.equal(client.how, "ECONNRESET");
    await until(() => peer.connections[0]!.stream.destroyed);
  });
});

Deno.test("a client that goes on uploading after an early answer → its bytes are thrown away, and its next request is answered", async () => {
  const peer = slowPeer();
  await withServer(httpProxyServer(peer.dial, null), async (port) => {
    const client = new Client(port);
    const body = Buffer.alloc(5_000_000);
    client.socket.write(
      `POST http://builder/ HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length + 5}\r\n\r\nfirst`,
    );
    await until(() => peer.connections[0]?.received !== undefined);
    await until(() => peer.connections[0]!.received !== "");
    peer.connections[0]!.stream.push("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno");
    peer.connections[0]!.stream.push(null);
    await until(() => client.received.endsWith("no"));
    client.socket.write(body);
    client.socket.write("GET http://builder/ HTTP/1.1\r\nHost: a\r\n\r\n");
    await until(() => peer.connections.length === 2);
    await until(() => peer.connections[1]!.received !== "");
    peer.connections[1]!.stream.push("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes");
    await until(() => client.received.endsWith("yes"));
    client.socket.destroy();
  });
});

for (
  const [what, second] of [
    ["CONNECT", "CONNECT builder:80 HTTP/1.1\r\nHost: a\r\n\r\n"],
    ["an upgrade", `GET http://builder/ HTTP/1.1\r\nHost: a\r\n${UPGRADE}websocket\r\n\r\n`],
  ] as const
) {
  Deno.test(`${what} behind a request that is not yet answered → a reset: two answers never mix`, async () => {
    const peer = slowPeer();
    await withServer(httpProxyServer(peer.dial, null), async (port) => {
      const client = new Client(port);
      client.socket.write(`GET http://builder/ HTTP/1.1\r\nHost: a\r\n\r\n${second}`);
      await until(() => client.how !== "open" || client.received !== "");
      assert.deepEqual([client.how, client.received], ["ECONNRESET", ""]);
      await until(() => peer.connections.every(({ stream }) => stream.destroyed));
      assert.ok(peer.connections.length <= 1);
    });
  });
}

Deno.test("CONNECT on a connection whose requests were all answered → a tunnel", async () => {
  const peer = slowPeer();
  await withServer(httpProxyServer(peer.dial, null), async (port) => {
    const client = new Client(port);
    client.socket.write("GET http://builder/ HTTP/1.1\r\nHost: a\r\n\r\n");
    await until(() => peer.connections[0]?.received !== undefined);
    peer.connections[0]!.stream.push("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes");
    await until(() => client.received.endsWith("yes"));
    client.socket.write("CONNECT builder:80 HTTP/1.1\r\nHost: a\r\n\r\nhello");
    await until(() => peer.connections[1]?.received === "hello");
    client.socket.destroy();
  });
});

for (const [asked, given] of [["h2c", "h2c"], ["websocket", "h2c"], ["h2c", "websocket"]]) {
  Deno.test(`an upgrade to ${asked}, answered with 101 for ${given} → 502, and the peer gets no byte of the next request`, async () => {
    const peer = httpPeer(
      `HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${given}\r\n\r\n`,
    );
    await withServer(httpProxyServer(peer.dial, null), async (port) => {
      const answer = await exchange(port, [
        `GET http://builder/ HTTP/1.1\r\nHost: a\r\n${UPGRADE}${asked}\r\n\r\n` +
        "GET http://other/ HTTP/1.1\r\nAuthorization: Bearer other\r\n\r\n",
      ], { half: false });
      assert.match(answer.toString(), /^HTTP\/1\.1 502 /);
      assert.ok(peer.isClosed());
      assert.doesNotMatch(peer.received(), /other/);
    });
  });
}

Deno.test("a refused CONNECT with bytes behind it, and the client ends → its connection is closed", async () => {
  const server = httpProxyServer(slowPeer().dial, null);
  const open = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  await withServer(server, async (port) => {
    const client = new Client(port);
    client.socket.write(`CONNECT nowhere HTTP/1.1\r\nHost: a\r\n\r\n${"x".repeat(200_000)}`);
    await until(() => client.how === "end");
    assert.match(client.received, /^HTTP\/1\.1 400 [^]*\n$/);
    client.socket.end();
    await until(() => open.size === 0);
  });
});

Deno.test("a request that both Content-Length and Transfer-Encoding frame, or neither well → 400, and nothing is dialled", async () => {
  const peer = slowPeer();
  await withServer(httpProxyServer(peer.dial, null), async (port) => {
    for (
      const framing of [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Transfer-Encoding: chunked, gzip",
        "Transfer-Encoding : chunked",
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: +5",
      ]
    ) {
      const answer = await exchange(port, [
        `POST http://builder/ HTTP/1.1\r\nHost: a\r\n${framing}\r\n\r\n0\r\n\r\n` +
        "GET http://builder/hidden HTTP/1.1\r\nHost: a\r\n\r\n",
      ], { half: false });
      assert.match(answer.toString(), /^HTTP\/1\.1 400 /, framing);
      assert.deepEqual(peer.connections.map(({ received }) => received).join(""), "", framing);
    }
  });
});
