import assert from "node:assert/strict";
import { startOwnFunction } from "../own_function/own_function.ts";

const REQUEST = [
  "POST /agent-artifacts/list HTTP/1.1",
  "host: 127.0.0.1",
  "authorization: Bearer ak_bad",
  "content-length: 10",
  "",
  "",
].join("\r\n");

Deno.test("a wrong key and a body that never comes → 401 at once", async () => {
  await using own = await startOwnFunction();
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: own.process.port });
  await connection.write(new TextEncoder().encode(REQUEST));
  const buffer = new Uint8Array(4096);
  // Without an answer, the read would wait forever.
  const timer = setTimeout(() => connection.close(), 10_000);
  const readBytes = await connection.read(buffer);
  clearTimeout(timer);
  assert.match(new TextDecoder().decode(buffer.subarray(0, readBytes ?? 0)), /^HTTP\/1\.1 401 /);
});

Deno.test("a sender that goes away within its body → the next request is answered", async () => {
  await using own = await startOwnFunction();
  for (const bearer of ["ak_bad", `ak_${"0".repeat(64)}`]) {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: own.process.port });
    await connection.write(new TextEncoder().encode(REQUEST.replace("ak_bad", bearer) + '{"'));
    connection.close();
  }
  const health = await fetch(`${own.process.url}/agent-artifacts/health`);
  assert.match(await health.text(), /"ok"/);
});
