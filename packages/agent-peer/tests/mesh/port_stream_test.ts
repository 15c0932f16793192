import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import type { ByteStream } from "../../mesh/byte_stream.ts";
import { TcpError } from "../../ip/tcp_error.ts";
import { CHUNK_BYTES, WINDOW_BYTES } from "../../mesh/streams/port_messages.ts";
import { MeshConn } from "../../mesh/sockets/conn.ts";
import { PortStream } from "../../mesh/streams/port_stream.ts";
import { servePort } from "../../mesh/streams/serve_port.ts";

/** A connection whose other end is the test. */
class FakeConnection implements ByteStream {
  readonly written: Uint8Array[] = [];
  readonly calls: string[] = [];
  /** The number of bytes that were read. */
  taken = 0;
  /** While false, writes wait. */
  #flows = true;
  #resume: () => void = () => {};
  readonly #incoming: (Uint8Array | null | TcpError)[] = [];
  #wake: () => void = () => {};

  push(...items: (Uint8Array | null | TcpError)[]): void {
    this.#incoming.push(...items);
    this.#wake();
  }

  hold(): void {
    this.#flows = false;
  }

  flow(): void {
    this.#flows = true;
    this.#resume();
  }

  async read(): Promise<Uint8Array | null> {
    while (this.#incoming.length === 0) {
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
    const next = this.#incoming.shift()!;
    if (next instanceof TcpError) throw next;
    this.taken += next?.length ?? 0;
    return next;
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (!this.#flows) await new Promise<void>((resolve) => this.#resume = resolve);
    this.written.push(bytes.slice());
  }

  end(): Promise<void> {
    this.calls.push("end");
    return Promise.resolve();
  }

  close(): void {
    this.calls.push("close");
  }

  abort(): void {
    this.calls.push("abort");
  }
}

function connected() {
  const { port1, port2 } = new MessageChannel();
  const closed = new Set<MessagePort>();
  for (const port of [port1, port2]) {
    const close = port.close.bind(port);
    port.close = () => {
      closed.add(port);
      close();
    };
  }
  const far = new FakeConnection();
  servePort(port2, far);
  return { near: new PortStream(port1), far, areClosed: () => closed.size === 2 };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

function digest(chunks: readonly Uint8Array[]): string {
  const hash = createHash("sha256");
  for (const chunk of chunks) hash.update(chunk);
  return hash.digest("hex");
}

Deno.test("bytes in both directions, then both ends → every byte, then null, then the connection is closed", async () => {
  const { near, far, areClosed } = connected();
  const chunks = Array.from(
    { length: 30 },
    (_, index) => new Uint8Array(randomBytes(index * 4001)),
  );
  const reading = (async () => {
    const read: Uint8Array[] = [];
    for (let bytes; (bytes = await near.read()) !== null;) read.push(bytes);
    return read;
  })();
  for (const chunk of chunks) await near.write(chunk);
  await near.end();
  far.push(...chunks.filter(({ length }) => length > 0), null);
  assert.equal(digest(await reading), digest(chunks));
  await until(() => far.calls.includes("close"));
  assert.equal(digest(far.written), digest(chunks));
  await until(areClosed);
  assert.deepEqual(far.calls, ["end", "close"]);
  near.close();
  assert.deepEqual(far.calls, ["end", "close"]);
});

Deno.test("a service that pipes a connection to itself → every byte back, then both ports are closed", async () => {
  const { near, far, areClosed } = connected();
  const remote = { address: "10.213.0.2", port: 443, agentId: "builder", name: "builder" };
  const conn = new MeshConn({ stream: near, local: remote, remote });
  const chunks = Array.from(
    { length: 30 },
    (_, index) => new Uint8Array(randomBytes(30_001 + index)),
  );
  far.push(...chunks, null);
  await conn.readable.pipeTo(conn.writable);
  await until(areClosed);
  assert.equal(digest(far.written), digest(chunks));
  assert.deepEqual(far.calls, ["end", "close"]);
});

Deno.test("both directions have ended, but bytes wait to be read or written → the ports stay open until then", async () => {
  const reader = connected();
  reader.far.push(new Uint8Array([1]), null);
  await reader.near.end();
  await until(() => reader.far.calls.includes("close"));
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.ok(!reader.areClosed());
  assert.deepEqual(await reader.near.read(), new Uint8Array([1]));
  assert.equal(await reader.near.read(), null);
  await until(reader.areClosed);

  const writer = connected();
  writer.far.hold();
  const writing = writer.near.write(new Uint8Array(WINDOW_BYTES));
  writer.far.push(null);
  assert.equal(await writer.near.read(), null);
  await writer.near.end();
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.ok(!writer.areClosed());
  writer.far.flow();
  while (writer.far.written.length < WINDOW_BYTES / CHUNK_BYTES) {
    writer.far.flow();
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await writing;
  await until(writer.areClosed);
});

Deno.test("a part of a larger buffer → its own bytes alone; the caller may change it afterwards", async () => {
  const { near, far } = connected();
  const large = new Uint8Array(100).fill(1);
  const writing = near.write(large.subarray(10, 13));
  large.fill(2);
  await writing;
  await until(() => far.written.length === 1);
  assert.deepEqual(far.written[0], new Uint8Array([1, 1, 1]));
  assert.equal(large.length, 100);
  near.abort();
});

Deno.test("who does not read → the other thread stops reading from the network", async () => {
  const { near, far } = connected();
  const chunk = new Uint8Array(65_536);
  far.push(...Array.from({ length: 40 }, () => chunk), null);
  await until(() => far.taken >= WINDOW_BYTES);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.ok(far.taken <= WINDOW_BYTES + chunk.length, `${far.taken} bytes`);
  let read = 0;
  for (let bytes; (bytes = await near.read()) !== null;) read += bytes.length;
  assert.equal(read, 40 * chunk.length);
  near.abort();
});

Deno.test("a network that takes nothing → writes wait; when it goes on, they do", async () => {
  const { near, far } = connected();
  far.hold();
  let written = 0;
  const chunk = new Uint8Array(65_536);
  const writing = (async () => {
    for (let count = 0; count < 40; count++) {
      await near.write(chunk);
      written += chunk.length;
    }
  })();
  await until(() => written >= WINDOW_BYTES - chunk.length);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.ok(written <= WINDOW_BYTES, `${written} bytes`);
  far.flow();
  await writing;
  assert.equal(written, 40 * chunk.length);
  near.abort();
});

Deno.test("a connection that breaks → reads and writes of the other thread fail with its code", async () => {
  const { near, far, areClosed } = connected();
  const reading = near.read();
  far.push(new TcpError("ECONNRESET"));
  await assert.rejects(reading, { name: "TcpError", code: "ECONNRESET" });
  await assert.rejects(near.write(new Uint8Array(1)), { code: "ECONNRESET" });
  await assert.rejects(near.read(), { code: "ECONNRESET" });
  await until(areClosed);
});

Deno.test("abort() and close() → in the other thread; close() after what was written", async () => {
  const first = connected();
  first.near.abort();
  await assert.rejects(first.near.read(), { code: "ECONNABORTED" });
  await until(first.areClosed);
  assert.deepEqual(first.far.calls, ["abort"]);

  const second = connected();
  second.far.hold();
  await second.near.write(new Uint8Array([7]));
  second.near.close();
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.deepEqual(second.far.calls, []);
  second.far.flow();
  await until(() => second.far.calls.length > 0);
  assert.deepEqual([second.far.written, second.far.calls], [[new Uint8Array([7])], ["close"]]);
});
