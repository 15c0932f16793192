import assert from "node:assert/strict";
import { sendPinned } from "../../../supabase/functions/_shared/identity/issuers/pinned_request.ts";

interface Answering extends AsyncDisposable {
  readonly port: number;
  /** What each connection sent, once it is closed. */
  readonly requests: Promise<string>[];
}

/** Listens at 127.0.0.1, and answers each connection with these chunks, then leaves it open. */
function listen(...chunks: string[]): Answering {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const requests: Promise<string>[] = [];
  const accepting = (async () => {
    for await (const connection of listener) {
      requests.push(converse(connection, chunks));
    }
  })();
  return {
    port: listener.addr.port,
    requests,
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting;
      await Promise.all(requests);
    },
  };
}

async function converse(connection: Deno.Conn, chunks: readonly string[]): Promise<string> {
  let request = "";
  const bytes = new Uint8Array(4096);
  while (!request.endsWith("{}")) {
    const count = await connection.read(bytes);
    if (count === null) break;
    request += new TextDecoder().decode(bytes.subarray(0, count));
  }
  for (const chunk of chunks) await connection.write(new TextEncoder().encode(chunk));
  if (chunks.at(-1) === "") connection.close();
  // Until the client closes it.
  else await new Response(connection.readable).arrayBuffer().catch(() => {});
  return request;
}

async function post(
  { port }: { port: number },
  { addresses = ["127.0.0.1"], path = "/hook?key=1", signal = AbortSignal.timeout(60_000) } = {},
): Promise<number> {
  const { status } = await sendPinned({
    url: new URL(`http://hooks.example.com:${port}${path}`),
    addresses,
    headers: { "content-type": "application/json", "webhook-id": "evt_1" },
    body: "{}",
    mostBytes: 8192,
    signal,
  });
  return status;
}

Deno.test("a POST → one request, with the name as its host, and nothing is read after the headers", async () => {
  await using receiver = listen("HTTP/1.1 204 No Content\r\n\r\n");
  assert.equal(await post(receiver), 204);
  const [head, body] = (await receiver.requests[0]!).split("\r\n\r\n");
  assert.equal(body, "{}");
  assert.deepEqual(head!.split("\r\n"), [
    "POST /hook?key=1 HTTP/1.1",
    `host: hooks.example.com:${receiver.port}`,
    "user-agent: agent-artifacts",
    "accept: */*",
    "content-length: 2",
    "connection: close",
    "content-type: application/json",
    "webhook-id: evt_1",
  ]);
});

for (
  const [chunks, status] of [
    [["HTTP/1.1 200 OK\r\n\r\n"], 200],
    [["HTTP/1.1 200\r\n\r\n"], 200],
    [["HTTP/1.0 410 Gone\n\n"], 410],
    [["HTT", "P/1.1 5", "03 Busy\r", "\n\r\n"], 503],
    [["HTTP/1.1 307 Moved\r\nlocation: http://127.0.0.1/\r\n\r\n"], 307],
    [
      [
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103\r\nlink: x\r\n",
        "\r\nHTTP/1.1 201 Created\r\n\r\n",
      ],
      201,
    ],
  ] as const
) {
  Deno.test(`a POST: a receiver that sends ${JSON.stringify(chunks)} → ${status}`, async () => {
    await using receiver = listen(...chunks);
    assert.equal(await post(receiver), status);
    assert.equal(receiver.requests.length, 1);
  });
}

for (
  const chunks of [
    [""],
    ["HTTP/1.1 2", ""],
    ["HTTP/2 200\r\n", ""],
    ["HTTP/1.1 099 No\r\n", ""],
    ["SSH-2.0-server\r\n", ""],
    ["HTTP/1.1 100 Continue\r\n\r\n".repeat(1000)],
    ["x".repeat(20_000)],
  ]
) {
  const name = JSON.stringify(chunks).slice(0, 50);
  Deno.test(`a POST: a receiver that sends ${name} → throws`, async () => {
    await using receiver = listen(...chunks);
    await assert.rejects(post(receiver));
  });
}

Deno.test("a POST: several addresses → the first that accepts, and no other", async () => {
  await using receiver = listen("HTTP/1.1 200 OK\r\n\r\n");
  // Nothing listens at the port of these two.
  const closed = ["127.0.0.2", "127.0.0.3"];
  assert.equal(await post(receiver, { addresses: [...closed, "127.0.0.1", "127.0.0.1"] }), 200);
  assert.equal(receiver.requests.length, 1);
  await assert.rejects(post(receiver, { addresses: closed }), /No address/);
});

Deno.test("a POST: a receiver that never answers, until the signal aborts → throws, and the connection is closed", async () => {
  await using receiver = listen();
  const deadline = new AbortController();
  const posted = post(receiver, { signal: deadline.signal });
  while (receiver.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  deadline.abort();
  await assert.rejects(posted);
  assert.match(await receiver.requests[0]!, /^POST /);
  await assert.rejects(post(receiver, { signal: AbortSignal.abort() }), { name: "AbortError" });
});
