/** How connections start, end, stall and break. */
import assert from "node:assert/strict";
import { MeshNetSocket } from "../../mesh/sockets/net_socket.ts";
import type { TcpConnection } from "../../ip/tcp_connection.ts";
import { CLIENT, connectStacks, type Pair, SERVER } from "./stacks.ts";
import { readText, writeText } from "./transfer.ts";

/** Both ends of one connection. */
async function connectOn(pair: Pair): Promise<readonly [TcpConnection, TcpConnection]> {
  const accepted = Promise.withResolvers<TcpConnection>();
  using _listener = pair.server.listen(80, (connection) => accepted.resolve(connection));
  const connection = await pair.client.connect({ address: SERVER.ipv4, port: 80 });
  return [connection, await accepted.promise];
}

Deno.test("a connection → each side knows the other's address and port", async () => {
  using pair = await connectStacks();
  const [client, server] = await connectOn(pair);
  assert.deepEqual([client.remoteAddress, client.remotePort], [SERVER.ipv4, 80]);
  assert.deepEqual([server.remoteAddress, server.localPort], [CLIENT.ipv4, 80]);
  assert.equal(server.remotePort, client.localPort);
});

Deno.test("end() of one side → the other reads to the end, and still writes; then both are closed", async () => {
  using pair = await connectStacks();
  const [client, server] = await connectOn(pair);
  await writeText(client, "question");
  await client.end();
  assert.equal(await readText(server), "question");
  await assert.rejects(writeText(client, "more"), { code: "EPIPE" });
  await writeText(server, "answer");
  await server.end();
  assert.equal(await readText(client), "answer");
  assert.deepEqual(await Promise.all([client.closed, server.closed]), [null, null]);
  assert.deepEqual([pair.client.connections.length, pair.server.connections.length], [0, 0]);
});

Deno.test("abort() → the other side's reads and writes fail with ECONNRESET", async () => {
  using pair = await connectStacks();
  const [client, server] = await connectOn(pair);
  const reading = assert.rejects(server.read(), { code: "ECONNRESET" });
  client.abort();
  await reading;
  await assert.rejects(writeText(server, "x"), { code: "ECONNRESET" });
  assert.equal((await client.closed)?.code, "ECONNABORTED");
  await assert.rejects(client.read(), { code: "ECONNABORTED" });
});

Deno.test("bytes and a reset in one turn → a read that waits gets the bytes, the next one fails", async () => {
  using pair = await connectStacks({ delayMs: 5 });
  const [client, server] = await connectOn(pair);
  // Keep the packets, to hand them over together.
  const packets: Uint8Array[] = [];
  pair.toClient.receiver = { input: (packet) => packets.push(packet) };
  const reading = client.read();
  await writeText(server, "last words");
  server.abort();
  while (packets.length < 2) await new Promise((resolve) => setTimeout(resolve, 1));
  for (const packet of packets) pair.client.input(packet);
  assert.equal(new TextDecoder().decode((await reading)!), "last words");
  await assert.rejects(client.read(), { code: "ECONNRESET" });
});

Deno.test("close() in the turn of bytes for which a read waits → the read gets them, and the end is clean", async () => {
  using pair = await connectStacks();
  const [client, server] = await connectOn(pair);
  pair.toClient.receiver = {
    input(packet) {
      pair.client.input(packet);
      client.close();
    },
  };
  const reading = client.read();
  await writeText(server, "last words");
  assert.equal(new TextDecoder().decode((await reading)!), "last words");
  assert.equal(await server.read(), null);
  assert.equal(client.isCut, false);
});

Deno.test("write() in the turn in which room was made → every byte is sent once", async () => {
  using pair = await connectStacks();
  const [client, server] = await connectOn(pair);
  const bytes = Uint8Array.from({ length: 6_000_000 }, (_, index) => index % 251);
  const writing = client.write(bytes);
  const more = Promise.withResolvers<void>();
  pair.toClient.receiver = {
    input(packet) {
      pair.client.input(packet);
      more.resolve(client.write(Uint8Array.of(255)));
    },
  };
  let count = 0;
  for (let arrived; count <= bytes.length && (arrived = await server.read()) !== null;) {
    for (const byte of arrived.subarray(0, bytes.length - count)) {
      if (byte !== count % 251) assert.fail(`another byte at ${count}`);
      count++;
    }
    if (count === bytes.length) break;
  }
  assert.equal(count, bytes.length);
  await Promise.all([writing, more.promise]);
});

Deno.test("connect() to a port without a listener → ECONNREFUSED", async () => {
  using pair = await connectStacks();
  const connecting = pair.client.connect({ address: SERVER.ipv6, port: 81 });
  await assert.rejects(connecting, { code: "ECONNREFUSED" });
  assert.equal(pair.client.connections.length, 0);
});

Deno.test("connect() with a signal that aborts before an answer → its reason", async () => {
  using pair = await connectStacks({ loss: 1 });
  const controller = new AbortController();
  const { signal } = controller;
  const connecting = pair.client.connect({ address: SERVER.ipv4, port: 80, signal });
  controller.abort(new Error("enough"));
  await assert.rejects(connecting, /enough/);
  assert.equal(pair.client.connections.length, 0);
});

Deno.test("a reader that does not read → the writer waits, and goes on when it reads; no byte is lost", async () => {
  using pair = await connectStacks();
  const [client, server] = await connectOn(pair);
  const chunk = new Uint8Array(256 * 1024).fill(7);
  let written = 0;
  const writing = (async () => {
    for (; written < 32; written++) await client.write(chunk);
    await client.end();
  })();
  // The window is 2 MiB and the sender buffers 384 KiB, so the link becomes idle before everything
  // is sent.
  let sent = -1;
  while (sent !== pair.toServer.sent) {
    sent = pair.toServer.sent;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  assert.ok(written < 16, `${written} chunks were taken`);
  let length = 0;
  for (let bytes; (bytes = await server.read()) !== null;) length += bytes.length;
  assert.equal(length, 32 * chunk.length);
  await writing;
});

Deno.test("listen() on a port that is taken → EADDRINUSE; after close() → it is free", async () => {
  using pair = await connectStacks();
  const listener = pair.server.listen(80, () => {});
  assert.throws(() => pair.server.listen(80, () => {}), { code: "EADDRINUSE" });
  listener.close();
  pair.server.listen(80, () => {}).close();
  const connecting = pair.client.connect({ address: SERVER.ipv4, port: 80 });
  await assert.rejects(connecting, { code: "ECONNREFUSED" });
});

Deno.test("reset() of chosen connections → the other side is told; others stay", async () => {
  using pair = await connectStacks();
  const [client, server] = await connectOn(pair);
  const [other, otherServer] = await connectOn(pair);
  const reading = assert.rejects(client.read(), { code: "ECONNRESET" });
  assert.equal(pair.server.reset((one) => one === server), 1);
  await reading;
  await writeText(other, "still here");
  await other.end();
  assert.equal(await readText(otherServer), "still here");
});

Deno.test("close() of a stack → both sides' connections end with an error", async () => {
  using pair = await connectStacks();
  const [client, server] = await connectOn(pair);
  pair.client.close();
  assert.equal((await client.closed)?.code, "ECONNABORTED");
  assert.equal((await server.closed)?.code, "ECONNRESET");
  await assert.rejects(pair.client.connect({ address: SERVER.ipv4, port: 80 }), {
    code: "ECONNABORTED",
  });
});

Deno.test("a net.Socket that may be half open → bytes in both directions, also after one has ended", async () => {
  using pair = await connectStacks();
  const [client, server] = await connectOn(pair);
  const socket = new MeshNetSocket(null, { allowHalfOpen: true }).open({
    stream: client,
    local: { address: CLIENT.ipv4, port: client.localPort },
    remote: { address: SERVER.ipv4, port: 80, agentId: "server", name: "server" },
  });
  socket.end("question");
  assert.equal(await readText(server), "question");
  await writeText(server, "answer");
  await server.end();
  let text = "";
  for await (const bytes of socket) text += new TextDecoder().decode(bytes);
  assert.equal(text, "answer");
  assert.equal(await client.closed, null);
});
