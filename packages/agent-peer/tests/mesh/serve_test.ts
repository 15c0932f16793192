import assert from "node:assert/strict";
import { TcpError } from "../../ip/tcp_error.ts";
import { meshFetch } from "../../mesh/http/fetch.ts";
import { connectionServer, type ServeHandler } from "../../mesh/http/serve.ts";
import { MeshNetSocket } from "../../mesh/sockets/net_socket.ts";
import { type End, ends, toBuilder } from "./net_sockets.ts";

const PLANNER = { address: "10.213.0.1", port: 40_000, agentId: "planner-1", name: "planner" };

/** A server at the other end of every connection, and what it is told of errors. */
async function served(handler: ServeHandler) {
  const errors: unknown[] = [];
  const take = await connectionServer(handler, { onError: (error) => errors.push(error) });
  const open = (): [End, End] => {
    const [near, far] = ends();
    const local = { address: "fd00::2", port: 8080 };
    const socket = new MeshNetSocket(null, { allowHalfOpen: true });
    take(socket.open({ stream: far, local, remote: PLANNER }), PLANNER);
    return [near, far];
  };
  const fetch = (path: string, init?: RequestInit) =>
    meshFetch(
      () => Promise.resolve(new MeshNetSocket(null).open(toBuilder(open()[0]))),
      `http://builder:8080${path}`,
      init,
    );
  return { open, fetch, errors };
}

/** What a server says to the bytes of a request, until its answer ends with this text. */
async function rawAnswer(near: End, request: string, ending: string): Promise<string> {
  await near.write(new TextEncoder().encode(request));
  let answer = "";
  while (!answer.endsWith(ending)) {
    const bytes = await near.read();
    if (bytes === null) break;
    answer += new TextDecoder().decode(bytes);
  }
  return answer;
}

/** Waits until a condition is met. */
async function until(condition: () => boolean): Promise<void> {
  const end = performance.now() + 30_000;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`It did not become true: ${condition}`);
    await new Promise((go) => setTimeout(go, 5));
  }
}

Deno.test("serve() → method, URL, headers and body as a Request, who asks, and the Response", async () => {
  const { fetch, errors } = await served(async (request, { agentId, name, address }) => {
    const headers = new Headers({ "x-answer": "yes" });
    headers.append("set-cookie", "a=1");
    headers.append("set-cookie", "b=2");
    const { method, url } = request;
    const body = [method, url, request.headers.get("x-mine"), await request.text()];
    return new Response(JSON.stringify([...body, agentId, name, address]), {
      status: 201,
      statusText: "Made",
      headers,
    });
  });
  const headers = { "x-mine": "1" };
  const response = await fetch("/tasks?a=b", { method: "POST", body: "hällo", headers });
  assert.deepEqual([response.status, response.statusText], [201, "Made"]);
  assert.equal(response.headers.get("x-answer"), "yes");
  assert.deepEqual(response.headers.getSetCookie(), ["a=1", "b=2"]);
  const url = "http://builder:8080/tasks?a=b";
  const caller = [PLANNER.agentId, PLANNER.name, PLANNER.address];
  assert.deepEqual(await response.json(), ["POST", url, "1", "hällo", ...caller]);
  assert.deepEqual(errors, []);
});

Deno.test("serve() → both bodies stream: the answer to a part comes before the next part is sent", async () => {
  const { fetch } = await served((request) => new Response(request.body));
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const init = { method: "POST", body: readable, duplex: "half" } as RequestInit;
  const [response] = await Promise.all([fetch("/", init), writer.write(Uint8Array.of(1))]);
  const reader = response.body!.getReader();
  for (const part of [1, 2, 3]) {
    assert.deepEqual([...(await reader.read()).value!], [part]);
    if (part < 3) await writer.write(Uint8Array.of(part + 1));
  }
  await writer.close();
  assert.equal((await reader.read()).done, true);
});

Deno.test("serve() with HEAD, 204 and GET under Deno → a body for GET alone; the connection is said to end, and ends", async () => {
  const { open } = await served(({ url }) =>
    url.endsWith("/204") ? new Response(null, { status: 204 }) : new Response("text")
  );
  for (
    const [line, answer] of [
      ["HEAD /", /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n$/],
      ["GET /204", /^HTTP\/1\.1 204 No Content\r\n[^]*\r\n\r\n$/],
      ["GET /", /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n4\r\ntext\r\n0\r\n\r\n$/],
    ] as const
  ) {
    const [near] = open();
    const text = await rawAnswer(near, `${line} HTTP/1.1\r\nhost: builder\r\n\r\n`, "no such end");
    assert.match(text, answer);
    assert.match(text, /^connection: close\r$/im);
  }
});

for (
  const [what, handler] of [
    ["throws", () => {
      throw new Error("secret");
    }],
    ["rejects", () => Promise.reject(new Error("secret"))],
    ["returns no Response", () => "secret"],
    ["returns Response.error()", () => Response.error()],
  ] as const
) {
  Deno.test(`serve() with a handler that ${what} → 500 without details; the program is told`, async () => {
    const { fetch, errors } = await served(handler as unknown as ServeHandler);
    const response = await fetch("/", { method: "POST", body: "x" });
    assert.equal(response.status, 500);
    assert.equal(await response.text(), "Internal Server Error");
    assert.ok(![...response.headers].flat().join().includes("secret"));
    assert.equal(errors.length, 1);
  });
}

Deno.test("serve() with a body that fails midway → the connection is reset, not ended; the program is told", async () => {
  const { open, errors } = await served(() => {
    let parts = 0;
    return new Response(
      new ReadableStream({
        pull(body) {
          if (parts++ > 0) throw new Error("secret");
          body.enqueue(new TextEncoder().encode("half"));
        },
      }),
    );
  });
  const [near, far] = open();
  await near.write(new TextEncoder().encode("GET / HTTP/1.1\r\nhost: builder\r\n\r\n"));
  await until(() => far.calls.includes("abort"));
  assert.ok(!far.calls.includes("end") && !far.calls.includes("close"), far.calls.join());
  await until(() => errors.length > 0);
  assert.deepEqual(errors.map((error) => (error as Error).message), ["secret"]);
});

for (const request of ["GET / HTTP/1.1\r\nhost: a b", "TRACE / HTTP/1.1\r\nhost: builder"]) {
  Deno.test(`serve() of ${JSON.stringify(request)} → 400, and the handler is not called`, async () => {
    const { open } = await served(() => assert.fail("called"));
    assert.match(
      await rawAnswer(open()[0], `${request}\r\n\r\n`, "Bad Request"),
      /^HTTP\/1\.1 400 /,
    );
  });
}

Deno.test("serve() of a path that begins with // → a path of this host, not another host", async () => {
  const { open } = await served(({ url }) =>
    new Response(url, { headers: { connection: "close" } })
  );
  const request = "GET //other/path HTTP/1.1\r\nhost: builder\r\n\r\n";
  assert.match(await rawAnswer(open()[0], request, "0\r\n\r\n"), /http:\/\/builder\/\/other\/path/);
});

Deno.test("serve() → request.signal is aborted when the caller's connection breaks; not after the answer", async () => {
  const signals: AbortSignal[] = [];
  const left = Promise.withResolvers<void>();
  let isCancelled = false;
  const { open, fetch, errors } = await served((request) => {
    signals.push(request.signal);
    if (request.url.endsWith("/whole")) return new Response("whole");
    request.signal.addEventListener("abort", () => left.resolve());
    if (request.url.endsWith("/silent")) return new Promise(() => {});
    const first = new TextEncoder().encode("first");
    return new Response(
      new ReadableStream({
        start: (body) => body.enqueue(first),
        cancel: () => void (isCancelled = true),
      }),
    );
  });
  assert.equal(await (await fetch("/whole")).text(), "whole");
  for (const path of ["/silent", "/stream"]) {
    const [near, far] = open();
    await near.write(new TextEncoder().encode(`GET ${path} HTTP/1.1\r\nhost: builder\r\n\r\n`));
    if (path === "/stream") await near.read();
    else await until(() => signals.length === 2);
    far.take(new TcpError("ECONNRESET"));
    await until(() => signals.at(-1)!.aborted);
  }
  await left.promise;
  await until(() => isCancelled);
  assert.deepEqual(signals.map(({ aborted }) => aborted), [false, true, true]);
  assert.deepEqual(errors, [], "a caller that leaves is no error");
});
