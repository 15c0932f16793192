/** A server that does not send keys: it sends too much, too slowly, or not what it declares. */
import assert from "node:assert/strict";
import { createServer, type Server, type Socket } from "node:net";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { fetchJson } from "../../../supabase/functions/_shared/identity/issuers/pinned_request.ts";

const KIB = 1024;

/** A server that answers each request with these bytes, and then calls `end`. */
async function serve(
  answer: readonly (string | Uint8Array)[],
  end: (socket: Socket) => void = (socket) => socket.end(),
): Promise<{ url: string; sent: () => number } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  let sent = 0;
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("data", () => {
      for (const part of answer) socket.write(part);
      end(socket);
    });
    socket.on("close", () => sent += socket.bytesWritten);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}`,
    sent: () => sent,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function ask(url: string, milliseconds = 5_000): Promise<unknown> {
  return fetchJson(url, { allowLoopback: true, signal: AbortSignal.timeout(milliseconds) });
}

const head = (...fields: string[]) =>
  ["HTTP/1.1 200 OK", "content-type: application/json", "connection: close", ...fields, "", ""]
    .join("\r\n");

function json(bytes: number): string {
  return JSON.stringify({ keys: ["k".repeat(bytes)] });
}

Deno.test("keys of 256 KiB → read; one byte more, or packed → refused", async () => {
  const most = json(256 * KIB - json(0).length);
  await using server = await serve([head(), most]);
  assert.deepEqual(await ask(server.url), JSON.parse(most));
  await using larger = await serve([head(), `${most} `]);
  await assert.rejects(ask(larger.url), /more than 262144 bytes/);
  await using packed = await serve([head("content-encoding: gzip"), gzipSync(most)]);
  await assert.rejects(ask(packed.url), /no JSON/);
});

Deno.test("keys in chunks, after a 1xx, with header names in any case → read; in an encoding that was not asked for, or with headers that do not end → refused", async () => {
  const keys = '{"keys":[]}';
  const chunked = [
    "HTTP/1.1 103 Early Hints\r\nlink: </keys>\r\n\r\n",
    head("Transfer-Encoding: chunked"),
    "1;a=b\r\n{\r\n",
    `${(keys.length - 1).toString(16)}\r\n${keys.slice(1)}\r\n`,
    "0\r\ntrailer: x\r\n\r\n",
  ];
  await using inChunks = await serve(chunked, () => {});
  assert.deepEqual(await ask(inChunks.url), { keys: [] });
  await using cut = await serve(chunked.slice(0, -1));
  await assert.rejects(ask(cut.url), /no complete HTTP/);
  await using packed = await serve([head("Content-Encoding: br"), brotliCompressSync(keys)]);
  await assert.rejects(ask(packed.url), /no JSON/);
  await using long = await serve(["HTTP/1.1 200 OK\r\n", "x: y\r\n".repeat(40 * KIB)], () => {});
  await assert.rejects(ask(long.url), /no complete HTTP|more than/);
  await using other = await serve(["SSH-2.0-server\r\n"]);
  await assert.rejects(ask(other.url), /no complete HTTP/);
  await using silent = await serve([]);
  await assert.rejects(ask(silent.url), /no complete HTTP/);
});

Deno.test("an answer that does not end → no more of it is read than is allowed", async () => {
  const chunk = " ".repeat(64 * KIB);
  await using server = await serve([head()], (socket) => {
    const more = () => {
      while (!socket.destroyed && socket.write(chunk));
    };
    socket.on("drain", more);
    more();
  });
  await assert.rejects(ask(server.url), /more than 262144 bytes/);
});

Deno.test("an answer shorter or longer than its content-length → not what it seems to be", async () => {
  await using shorter = await serve([head("content-length: 100000"), '{"keys":[]}']);
  await assert.rejects(ask(shorter.url));
  await using longer = await serve([head("content-length: 11"), '{"keys":[]}', json(300 * KIB)]);
  assert.deepEqual(await ask(longer.url), { keys: [] });
  await using none = await serve([head("content-length: 5"), '{"keys":[]}']);
  await assert.rejects(ask(none.url), /no JSON/);
});

Deno.test("an answer that comes a byte at a time → given up when the time is over", async () => {
  await using server = await serve([head("content-length: 100000")], (socket) => {
    const timer = setInterval(() => socket.write(" "), 20);
    socket.on("close", () => clearInterval(timer));
  });
  await assert.rejects(ask(server.url, 300), { name: "TimeoutError" });
});

Deno.test("each redirect, also to the same server → not followed", async () => {
  for (const status of [301, 302, 303, 307, 308]) {
    await using target = await serve([head(), '{"keys":[]}']);
    const to = `HTTP/1.1 ${status} Elsewhere\r\nlocation: ${target.url}\r\nconnection: close\r\n`;
    await using server = await serve([`${to}content-length: 0\r\n\r\n`]);
    await assert.rejects(ask(server.url), new RegExp(`status ${status}`));
    assert.equal(target.sent(), 0);
  }
});
