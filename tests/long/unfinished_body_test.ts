import assert from "node:assert/strict";
import { startOwnFunction } from "../own_function/own_function.ts";

const CONNECTIONS = 200;

for (
  const [what, framing] of Object.entries({
    "whose length is announced": 'content-length: 10\r\n\r\n{"a"',
    "in chunks": 'transfer-encoding: chunked\r\n\r\n4\r\n{"a"\r\n',
  })
) {
  Deno.test(`${CONNECTIONS} bodies ${what} that stop arriving → 400 invalid_json that says so`, async () => {
    await using own = await startOwnFunction({
      environment: { RATE_LIMIT_REQUESTS_AT_ONCE: "0" },
    });
    const request = [
      "POST /agent-artifacts/list HTTP/1.1",
      "host: 127.0.0.1",
      `authorization: Bearer ak_${"0".repeat(64)}`,
      framing,
    ].join("\r\n");
    const answers = await Promise.all(
      Array.from({ length: CONNECTIONS }, () => firstAnswer(own.process.port, request)),
    );
    for (const answer of answers) {
      assert.match(answer, /^HTTP\/1\.1 400 /);
      assert.match(answer, /"invalid_json".*did not arrive within 10 seconds/);
    }
  });
}

/** The first bytes of the answer. */
async function firstAnswer(port: number, request: string): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  await connection.write(new TextEncoder().encode(request));
  const buffer = new Uint8Array(4096);
  const readBytes = await connection.read(buffer);
  return new TextDecoder().decode(buffer.subarray(0, readBytes ?? 0));
}
