/** Bytes through two stacks, over links that lose, reorder and duplicate packets. */
import assert from "node:assert/strict";
import type { LinkOptions } from "./emulated_link.ts";
import { connectStacks, SERVER } from "./stacks.ts";
import { bytesOf, digestOf, readDigest } from "./transfer.ts";

const LENGTH = 2_000_000;

const LINKS: readonly LinkOptions[] = [
  {},
  { delayMs: 1, loss: 0.01 },
  { delayMs: 1, loss: 0.02, reordering: 0.05, duplication: 0.01 },
];

for (const link of LINKS) {
  for (const family of ["ipv4", "ipv6"] as const) {
    Deno.test(`transfers of 2 MB both ways, ${family}, ${JSON.stringify(link)} → the same digests`, async () => {
      for (let seed = 1; seed <= 4; seed++) {
        using pair = await connectStacks({ ...link, seed });
        const [up, down] = [bytesOf(seed, LENGTH), bytesOf(-seed, LENGTH)];
        const arrived = Promise.withResolvers<string>();
        pair.server.listen(80, async (connection) => {
          const writing = connection.write(down).then(() => connection.end());
          arrived.resolve(await readDigest(connection));
          await writing;
        });
        const connection = await pair.client.connect({ address: SERVER[family], port: 80 });
        const writing = connection.write(up).then(() => connection.end());
        assert.equal(await readDigest(connection), digestOf(down));
        assert.equal(await arrived.promise, digestOf(up));
        await writing;
        if (link.loss !== undefined) assert.ok(pair.toServer.dropped > 0, "the link lost packets");
      }
    });
  }
}

Deno.test("1,000 connections, each an echo, again and again → all answered, and the memory stays", async () => {
  using pair = await connectStacks();
  pair.server.listen(7, async (connection) => {
    for (let bytes; (bytes = await connection.read()) !== null;) await connection.write(bytes);
    await connection.end();
  });
  const echo = async (index: number) => {
    const connection = await pair.client.connect({ address: SERVER.ipv4, port: 7 });
    const sent = bytesOf(index, 1000);
    await connection.write(sent);
    await connection.end();
    assert.equal(await readDigest(connection), digestOf(sent));
    await connection.closed;
  };
  const round = () => Promise.all(Array.from({ length: 1000 }, (_, index) => echo(index)));
  await round();
  assert.equal(pair.client.connections.length, 0);
  await round();
  const before = pair.server.memoryBytes;
  await round();
  // Connections in TIME-WAIT stay for a minute and take some hundred bytes each.
  assert.ok(pair.server.memoryBytes - before <= 1000 * 512, String(pair.server.memoryBytes));
});
