import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { openGatewayTo } from "./own_gateway.ts";

/** An upstream that sends half of an answer and then resets its connections. */
async function openUpstream(head: string) {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n`);
      setTimeout(() => socket.resetAndDestroy(), 50);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

/** How a connection ends for its client. */
function endOf(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    socket.resume();
    socket.on("end", () => resolve("end"));
    socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
  });
}

const HALVES = {
  "content-length": "content-length: 100\r\n\r\nhalf",
  "chunked": "transfer-encoding: chunked\r\n\r\n4\r\nhalf",
  "ends with its connection": "\r\nhalf",
};
const REQUESTS = {
  "a short request": "GET /functions/v1/echo HTTP/1.0\r\nhost: x\r\n\r\n",
  "a long upload": `PUT /functions/v1/echo HTTP/1.0\r\nhost: x\r\ncontent-length: 70000\r\n\r\n${
    "x".repeat(70_000)
  }`,
};

for (const [form, half] of Object.entries(HALVES)) {
  for (const [kind, request] of Object.entries(REQUESTS)) {
    // undici takes the reset of such an answer for its end. No upstream of the stack sends any.
    if (kind === "a short request" && form === "ends with its connection") continue;
    Deno.test(`${kind} by HTTP/1.0, and half of an answer (${form}) before the upstream resets → a reset, never an end`, async () => {
      await using upstream = await openUpstream(half);
      await using gateway = await openGatewayTo(upstream.port);
      const socket = connect({ port: gateway.port, host: "127.0.0.1" });
      socket.write(request);
      assert.equal(await endOf(socket), "ECONNRESET");
      socket.destroy();
    });
  }
}
