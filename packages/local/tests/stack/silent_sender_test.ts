import assert from "node:assert/strict";
import { connect } from "node:net";
import { openGatewayTo } from "./own_gateway.ts";

const SILENCE_MILLISECONDS = 1000;
const CONNECTIONS = 300;

/** Sends these bytes and nothing more. Returns what the gateway answers until it hangs up. */
function answerTo(port: number, sent: string): Promise<string> {
  return new Promise((resolve) => {
    let received = "";
    const socket = connect({ host: "127.0.0.1", port }, () => socket.write(sent));
    socket.on("data", (data) => received += data.toString());
    socket.on("error", () => {});
    socket.on("close", () => resolve(received));
  });
}

/** A gateway whose upstream answers after it has read the body, or before. */
async function withGateway(
  { readsBody }: { readsBody: boolean },
  run: (port: number) => Promise<void>,
): Promise<void> {
  const upstream = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    // A body that ends too early cannot be read.
    async (request) => new Response(readsBody ? await request.text().catch(() => "") : "early"),
  );
  const gateway = await openGatewayTo(upstream.addr.port, {
    silenceMilliseconds: SILENCE_MILLISECONDS,
  });
  try {
    await run(gateway.port);
  } finally {
    await gateway.stop();
    await upstream.shutdown();
  }
}

const UNFINISHED: Record<string, string> = {
  "whose length is announced": "content-length: 10\r\n\r\n{",
  "in chunks": "transfer-encoding: chunked\r\n\r\n1\r\n{\r\n",
  "that is long": "content-length: 1000000\r\n\r\n{",
};

for (const [what, end] of Object.entries(UNFINISHED)) {
  const request = `POST /functions/v1/echo HTTP/1.1\r\nhost: test\r\n${end}`;

  Deno.test(`${CONNECTIONS} bodies ${what} that stop arriving → each is hung up on`, async () => {
    await withGateway({ readsBody: true }, async (port) => {
      const answers = await Promise.all(
        Array.from({ length: CONNECTIONS }, () => answerTo(port, request)),
      );
      assert.deepEqual([...new Set(answers)], [""]);
    });
  });
}

Deno.test("a body that stops arriving after the answer came → the answer, then hung up on", async () => {
  await withGateway({ readsBody: false }, async (port) => {
    const request = `POST /functions/v1/echo HTTP/1.1\r\nhost: test\r\n${UNFINISHED["in chunks"]}`;
    const answer = await answerTo(port, request);
    assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/);
    assert.match(answer, /early/);
  });
});

Deno.test("a body that arrives slowly, each part within the time → answered", async () => {
  await withGateway({ readsBody: true }, async (port) => {
    const parts = 8;
    const body = new ReadableStream({
      async pull(controller) {
        for (let part = 0; part < parts; part++) {
          await new Promise((resolve) => setTimeout(resolve, SILENCE_MILLISECONDS / 4));
          controller.enqueue(new TextEncoder().encode("."));
        }
        controller.close();
      },
    });
    const response = await fetch(`http://127.0.0.1:${port}/functions/v1/echo`, {
      method: "POST",
      body,
    });
    assert.equal(await response.text(), ".".repeat(parts));
  });
});
