import assert from "node:assert/strict";
import type { ByteStream } from "../../mesh/byte_stream.ts";
import { MeshConn } from "../../mesh/sockets/conn.ts";

/** A connection that receives these bytes, and the calls that were made on it. */
function connOf(...incoming: readonly number[][]) {
  const chunks = incoming.map((bytes) => new Uint8Array(bytes));
  const calls: string[] = [];
  const call = (name: string) => (bytes?: Uint8Array) => {
    calls.push(bytes === undefined ? name : `${name} ${bytes.join()}`);
    return Promise.resolve();
  };
  const stream: ByteStream = {
    read: () => Promise.resolve(chunks.shift() ?? null),
    write: call("write"),
    end: call("end"),
    close: () => void calls.push("close"),
    abort: () => void calls.push("abort"),
  };
  const ends = {
    local: { address: "10.213.0.1", port: 0 },
    remote: { address: "fd00::2", port: 443, agentId: "builder", name: "builder" },
  };
  return { conn: new MeshConn({ stream, ...ends }), calls };
}

Deno.test("MeshConn, as Deno.Conn → read into buffers of any size, null at the end; write; closeWrite; close", async () => {
  const { conn: meshConn, calls } = connOf([1, 2, 3], [4]);
  const conn: Deno.Conn = meshConn;
  assert.deepEqual(conn.remoteAddr, { transport: "tcp", hostname: "fd00::2", port: 443 });
  assert.equal(meshConn.agentId, "builder");
  const buffer = new Uint8Array(2);
  const read: (number | null)[][] = [];
  for (let count; (count = await conn.read(buffer)) !== null;) {
    read.push([...buffer.subarray(0, count)]);
  }
  assert.deepEqual(read, [[1, 2], [3], [4]]);
  assert.equal(await conn.read(new Uint8Array(0)), 0);
  assert.equal(await conn.write(new Uint8Array([7, 8])), 2);
  await conn.closeWrite();
  conn.close();
  assert.deepEqual(calls, ["write 7,8", "end", "close"]);
});

Deno.test("MeshConn.readable and writable → every byte, then the end; cancelled or aborted → reset", async () => {
  const { conn, calls } = connOf([1, 2], [3]);
  const bytes = new Uint8Array(await new Response(conn.readable).arrayBuffer());
  assert.deepEqual([...bytes], [1, 2, 3]);
  const writer = conn.writable.getWriter();
  await writer.write(new Uint8Array([9]));
  await writer.close();
  assert.deepEqual(calls, ["write 9", "end"]);

  const cancelled = connOf([1]);
  await cancelled.conn.readable.cancel();
  const aborted = connOf();
  await aborted.conn.writable.abort();
  assert.deepEqual([cancelled.calls, aborted.calls], [["abort"], ["abort"]]);
});
