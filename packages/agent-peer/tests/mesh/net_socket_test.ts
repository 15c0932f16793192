import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request } from "node:http";
import { isIPv6, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { connect as connectTls, createServer as createTlsServer } from "node:tls";
import { TcpError } from "../../ip/tcp_error.ts";
import { type Dial, MeshNetSocket } from "../../mesh/sockets/net_socket.ts";
import { connectedSockets, ends, toBuilder } from "./net_sockets.ts";

/** A socket whose connections a test makes. */
function dialling() {
  const dialled: { host: string; port: number }[] = [];
  const signals: AbortSignal[] = [];
  const made = Promise.withResolvers<Awaited<ReturnType<Dial>>>();
  const socket = new MeshNetSocket(({ signal, ...to }) => {
    dialled.push(to);
    signals.push(signal);
    return made.promise;
  });
  return { socket, dialled, signals, ...made };
}

Deno.test("connect(port, host) of a net.Socket → connecting, then connected to the peer; what was written before arrives", async () => {
  const { socket, dialled, resolve } = dialling();
  assert.ok(socket instanceof Socket);
  assert.deepEqual([socket.pending, socket.remoteAddress, socket.agentId], [
    true,
    undefined,
    undefined,
  ]);
  assert.equal(socket.connect("443", "builder"), socket);
  assert.deepEqual([socket.connecting, dialled], [true, [{ host: "builder", port: 443 }]]);
  socket.write("one ");
  socket.write("two");
  const [near, far] = ends();
  setTimeout(() => resolve(toBuilder(near)), 5);
  await once(socket, "connect");
  assert.deepEqual(
    [socket.connecting, socket.pending, socket.readyState, socket.agentId],
    [false, false, "open", "builder-1"],
  );
  assert.deepEqual(
    [socket.remoteAddress, socket.remotePort, socket.remoteFamily, socket.localFamily],
    ["fd00::2", 443, "IPv6", "IPv4"],
  );
  assert.deepEqual(socket.address(), { address: "10.213.0.1", family: "IPv4", port: 0 });
  let received = "";
  while (received.length < 7) received += new TextDecoder().decode((await far.read())!);
  assert.deepEqual([received, socket.bytesWritten], ["one two", 7]);
  far.other.take(new Uint8Array(5));
  const [bytes] = await once(socket, "data");
  assert.deepEqual([bytes.length, socket.bytesRead], [5, 5]);
  socket.destroy();
});

Deno.test("connect() without a host, to no port, or again → an error, and nothing is dialled", () => {
  const { socket, dialled } = dialling();
  for (
    const args of [[443], [0, "builder"], [{ port: 65_536, host: "builder" }], [{ path: "/s" }]]
  ) {
    assert.throws(() => socket.connect(...args), TypeError, JSON.stringify(args));
  }
  assert.deepEqual([dialled, socket.connecting], [[], false]);
  socket.connect({ host: "builder", port: 443 });
  assert.throws(() => socket.connect(80, "builder"), /has a connection already/);
  assert.deepEqual(dialled, [{ host: "builder", port: 443 }]);
  const [accepted] = connectedSockets();
  assert.throws(() => accepted.connect(80, "builder"), /has a connection already/);
  for (const left of [socket, accepted]) left.destroy();
});

Deno.test("a connection that fails → the event error with its code, then close", async () => {
  const { socket, reject } = dialling();
  socket.connect(443, "builder");
  socket.write("lost");
  reject(new TcpError("ECONNREFUSED"));
  const [error] = await once(socket, "error");
  assert.equal(error.code, "ECONNREFUSED");
  if (!socket.closed) await once(socket, "close");
  assert.deepEqual([socket.destroyed, socket.connecting], [true, false]);
});

Deno.test("destroy() while it connects → it stops connecting; a connection that still succeeds is reset", async () => {
  const { socket, signals, resolve } = dialling();
  socket.connect(443, "builder").destroy();
  assert.equal(signals[0]!.aborted, true);
  const [near] = ends();
  resolve(toBuilder(near));
  await new Promise((resolve) => setTimeout(resolve, 0));
  assert.deepEqual(near.calls, ["abort"]);
});

Deno.test("a connection that breaks → the event error on the socket, never end", async () => {
  const [near, far] = ends();
  const socket = new MeshNetSocket(null).open(toBuilder(near));
  let hasEnded = false;
  socket.on("end", () => hasEnded = true).resume();
  far.other.take(new Uint8Array(3));
  far.other.take(new TcpError("ECONNRESET"));
  const [error] = await once(socket, "error");
  assert.deepEqual([error.code, hasEnded, near.calls], ["ECONNRESET", false, ["abort"]]);
});

Deno.test("destroy() → a reset; after end() and its last bytes → a close; resetAndDestroy() and an error → a reset all the same", async () => {
  const left = async (leave: (socket: MeshNetSocket) => unknown) => {
    const [near] = ends();
    const socket = new MeshNetSocket(null).open(toBuilder(near));
    socket.on("error", () => {}).write("bytes");
    await leave(socket);
    if (!socket.closed) await once(socket, "close");
    return near.calls.join();
  };
  const ended = async (socket: MeshNetSocket) => {
    socket.end();
    await once(socket, "finish");
    return socket;
  };
  assert.deepEqual(
    [
      await left((socket) => socket.destroy()),
      await left((socket) => socket.destroySoon()),
      await left(async (socket) => (await ended(socket)).destroy()),
      await left(async (socket) => (await ended(socket)).resetAndDestroy()),
      await left(async (socket) => (await ended(socket)).destroy(new Error("Half done."))),
    ],
    ["abort", "end,close", "end,close", "end,abort", "end,abort"],
  );
});

Deno.test("the other side ends → this side ends, too, unless it may be half open", async () => {
  const [one, other] = connectedSockets();
  one.end("question");
  assert.equal(await textOf(other), "question");
  assert.equal(await textOf(one), "");

  const [open, far] = connectedSockets({ allowHalfOpen: true });
  open.end("question");
  assert.equal(await textOf(far), "question");
  far.end("answer");
  assert.equal(await textOf(open), "answer");
});

/** Reads to the end. Unlike an iterator, it does not destroy the socket there. */
async function textOf(socket: Duplex): Promise<string> {
  let received = "";
  socket.on("data", (bytes) => received += bytes);
  await once(socket, "end");
  return received;
}

Deno.test("setTimeout() of a silent socket → the event timeout; bytes start the time again", async () => {
  const [one, other] = connectedSockets();
  other.resume();
  let bytes = 0;
  const writing = setInterval(() => {
    bytes++;
    if (bytes <= 10) one.write("x");
  }, 20);
  other.setTimeout(100);
  await once(other, "timeout");
  clearInterval(writing);
  assert.ok(bytes >= 10, `${bytes} bytes came before the timeout`);
  one.destroy();
  other.destroy();
});

Deno.test("Node's HTTP server and client on both ends → the request and its answer; the server knows the address", async () => {
  const [one, other] = connectedSockets({ allowHalfOpen: true });
  const server = createServer(async (asked, answer) => {
    answer.end(`${asked.socket.remoteAddress} sent ${(await text(asked)).length}`);
  });
  server.emit("connection", other);
  const asking = request({ method: "PUT", createConnection: () => one, headers: { host: "b" } });
  asking.end("z".repeat(100_000));
  const [answer] = await once(asking, "response");
  assert.equal(await text(answer), "10.213.0.1 sent 100000");
  if (!other.closed) await once(other, "close");
});

Deno.test("Node's TLS on both ends → every byte in both directions", async () => {
  const { key, cert } = await selfSigned("builder");
  const [one, other] = connectedSockets();
  const server = createTlsServer({ key, cert }, (socket) => socket.pipe(socket));
  server.emit("connection", other);
  const client = connectTls({ socket: one, servername: "builder", ca: cert });
  await once(client, "secureConnect");
  client.write("z".repeat(100_000));
  for (let received = 0; received < 100_000;) received += (await once(client, "data"))[0].length;
  client.destroy();
  assert.ok(isIPv6(one.remoteAddress!));
});

async function selfSigned(name: string): Promise<{ key: string; cert: string }> {
  const folder = await Deno.makeTempDir();
  try {
    const [keyFile, certFile] = [`${folder}/key`, `${folder}/cert`];
    const { success } = await new Deno.Command("openssl", {
      args: [
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "1",
        "-subj",
        `/CN=${name}`,
        "-addext",
        `subjectAltName=DNS:${name}`,
        "-keyout",
        keyFile,
        "-out",
        certFile,
      ],
      stderr: "null",
    }).output();
    assert.ok(success);
    return { key: await Deno.readTextFile(keyFile), cert: await Deno.readTextFile(certFile) };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
