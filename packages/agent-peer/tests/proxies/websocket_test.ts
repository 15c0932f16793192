/** WebSocket and other upgrades through the HTTP proxy, without CONNECT. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { httpProxyServer } from "../../mesh/proxies/http_proxy.ts";
import type { Dial } from "../../mesh/proxies/tunnelling.ts";
import { exchange, httpPeer, pretendedMesh, withServer } from "./proxy_clients.ts";

const TOKEN = `Proxy-Authorization: Basic ${Buffer.from("mesh:the-token").toString("base64")}\r\n`;

function upgradeTo(protocol: string, headers = TOKEN, url = "http://builder:81/chat?room=1") {
  return `GET ${url} HTTP/1.1\r\nHost: somewhere\r\n${headers}Connection: Upgrade\r\n` +
    `Upgrade: ${protocol}\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n` +
    "Sec-WebSocket-Version: 13\r\n\r\n";
}

/** Serves with Deno's own WebSocket, and dials it for every name. */
async function withWebSockets(test: (dial: Dial) => Promise<void>): Promise<void> {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    if (new URL(request.url).pathname !== "/chat") return new Response("no", { status: 404 });
    const { socket, response } = Deno.upgradeWebSocket(request);
    socket.onopen = () => socket.send("welcome");
    socket.onmessage = ({ data }) => socket.send(data);
    return response;
  });
  const dial: Dial = () =>
    new Promise<Duplex>((resolve) => {
      const socket: Socket = connect(server.addr.port, "127.0.0.1", () => resolve(socket));
    });
  try {
    await test(dial);
  } finally {
    await server.shutdown();
  }
}

/** A frame of text from a client (RFC 6455, 5.2), masked with zeros. */
function frame(text: string): Uint8Array {
  return new Uint8Array([0x81, 0x80 | text.length, 0, 0, 0, 0, ...new TextEncoder().encode(text)]);
}

/** A close frame from a client, masked and empty. */
const CLOSE = new Uint8Array([0x88, 0x80, 0, 0, 0, 0]);

for (const url of ["http://builder:81/chat?room=1", "ws://builder:81/chat"]) {
  Deno.test(`a WebSocket to ${url} by the proxy → opened, and messages in both directions`, () =>
    withWebSockets((dial) =>
      withServer(httpProxyServer(dial, "the-token"), async (port) => {
        const pieces = [upgradeTo("websocket", TOKEN, url), frame("hello"), frame("bye"), CLOSE];
        const answer = await exchange(port, pieces, { half: false });
        const text = answer.toString("latin1");
        assert.match(text, /^HTTP\/1\.1 101 Switching Protocols\r\n/);
        assert.match(text, /sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/i);
        const frames = answer.subarray(answer.indexOf("\r\n\r\n") + 4).toString("latin1");
        assert.match(frames, /welcome.*hello.*bye/s);
      })
    ));
}

Deno.test("a WebSocket that the peer refuses, a protocol that is not passed on → the peer's answer, then the end", () =>
  withWebSockets((dial) =>
    withServer(httpProxyServer(dial, "the-token"), async (port) => {
      const refused = await exchange(
        port,
        [
          upgradeTo("websocket", TOKEN, "http://builder:81/other"),
          "GET http://other/ HTTP/1.1\r\n\r\n",
        ],
        { half: false },
      );
      assert.match(refused.toString(), /^HTTP\/1\.1 404 [^]*connection: close\r\n[^]*\r\n\r\nno$/);
      const peer = httpPeer("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
      await withServer(httpProxyServer(peer.dial, "the-token"), async (port) => {
        const plain = await exchange(port, [upgradeTo("h2c")], { half: false });
        assert.match(plain.toString(), /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nok$/);
        assert.doesNotMatch(peer.received(), /upgrade|h2c|proxy-auth/i);
      });
    })
  ));

Deno.test("an answer to an upgrade, whose headers are not ASCII → the same bytes", async () => {
  const answer = "HTTP/1.1 200 Tr\xe8s bien\r\nx-name: na\xefve\r\ncontent-length: 2\r\n\r\nok";
  const peer = httpPeer(answer);
  await withServer(httpProxyServer(peer.dial, "the-token"), async (port) => {
    const passed = await exchange(port, [upgradeTo("websocket")], { half: false });
    assert.match(
      passed.toString("latin1"),
      /^HTTP\/1\.1 200 Tr\xe8s bien\r\n[^]*\r\nx-name: na\xefve\r\n/i,
    );
  });
});

Deno.test("an upgrade without the token, to no URL, with a body, to where no rule leads → refused, and nothing is dialled", async () => {
  const { dial, dialled } = pretendedMesh();
  await withServer(httpProxyServer(dial, "the-token"), async (port) => {
    const status = async (request: string) =>
      Number((await exchange(port, [request], { half: false })).toString().slice(9, 12));
    assert.equal(await status(upgradeTo("websocket", "")), 407);
    assert.equal(await status(upgradeTo("websocket", TOKEN, "/chat")), 400);
    assert.equal(await status(upgradeTo("websocket", `${TOKEN}Content-Length: 3\r\n`)), 400);
    assert.deepEqual(dialled, []);
    assert.equal(await status(upgradeTo("websocket", TOKEN, "http://builder:1/")), 403);
    assert.equal(await status(upgradeTo("websocket", TOKEN, "http://builder:4/")), 504);
  });
});
