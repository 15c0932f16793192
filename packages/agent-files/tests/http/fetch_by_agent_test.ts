/** The command line's own `fetch` on Node, for use with a proxy or SSL_CERT_FILE. */
import assert from "node:assert/strict";
import { fetchByAgent } from "../../proxy/fetch_by_agent.ts";
import { routes } from "../../proxy/proxy_agents.ts";

const MEBIBYTE = 1024 ** 2;

type Answer = (request: Request) => Response | Promise<Response>;

/**
 * Calls `test` with this fetch (without a proxy) and the URL of a server that answers by `answer`.
 */
async function withServer(
  answer: Answer,
  test: (send: typeof fetch, url: string) => Promise<void>,
): Promise<void> {
  const ended = new AbortController();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {}, signal: ended.signal },
    answer,
  );
  try {
    const route = routes({
      httpProxy: undefined,
      httpsProxy: undefined,
      noProxy: "",
      ca: undefined,
    });
    await test(fetchByAgent(route), `http://127.0.0.1:${server.addr.port}`);
  } finally {
    ended.abort();
    await server.finished;
  }
}

Deno.test("a body of each kind → sent with its length, and the answer's status, headers and bytes", async () => {
  const echo: Answer = async (request) =>
    new Response(await request.arrayBuffer(), {
      status: 202,
      headers: {
        "x-length": request.headers.get("content-length") ?? "none",
        "x-seen": `${request.method} ${request.headers.get("accept")} ${
          request.headers.get("x-a")
        }`,
      },
    });
  await withServer(echo, async (send, url) => {
    const bytes = new Uint8Array(3 * MEBIBYTE).map((_, index) => index * 31 + (index >> 8));
    const stream = () => new Blob([bytes]).stream();
    const length = String(bytes.length);
    for (
      const [body, headers, expected] of [
        [bytes, {}, length],
        [new Blob([bytes]), {}, length],
        [stream(), { "content-length": length }, length],
        [stream(), {}, "none"],
      ] as const
    ) {
      const answer = await send(url, { method: "PUT", body, headers: { ...headers, "x-a": "b" } });
      assert.deepEqual([answer.status, answer.headers.get("x-length")], [202, expected]);
      assert.equal(answer.headers.get("x-seen"), "PUT */* b");
      assert.deepEqual(new Uint8Array(await answer.arrayBuffer()), bytes);
    }
    assert.equal(await (await send(url, { method: "POST", body: "Größe" })).text(), "Größe");
    assert.equal(await (await send(url, { method: "POST" })).text(), "");
  });
});

Deno.test("a redirect → followed for GET, without a credential to another origin; an answer by `manual`; an error by `error` and for a PUT; not followed for ever", async () => {
  const seen: string[] = [];
  const answer: Answer = ({ url, headers }) => {
    const { pathname, port } = new URL(url);
    seen.push(`${pathname} ${headers.get("authorization")}`);
    if (pathname === "/there") return new Response("there");
    if (pathname === "/loop") return Response.redirect(url);
    const location = pathname === "/away" ? `http://localhost:${port}/there` : "/there";
    return new Response(null, { status: 302, headers: { location } });
  };
  await withServer(answer, async (send, url) => {
    const headers = { authorization: "Bearer ak_test" };
    for (const path of ["/here", "/away"]) {
      assert.equal(await (await send(url + path, { headers })).text(), "there");
    }
    const manual = await send(`${url}/here`, { redirect: "manual" });
    assert.deepEqual([manual.status, manual.headers.get("location")], [302, "/there"]);
    await manual.body?.cancel();
    await assert.rejects(send(`${url}/here`, { redirect: "error" }), /unexpected redirect/);
    await assert.rejects(send(`${url}/here`, { method: "PUT", body: "1" }), /unexpected redirect/);
    await assert.rejects(send(`${url}/loop`), /unexpected redirect/);
  });
  assert.deepEqual(seen.slice(0, 4), [
    "/here Bearer ak_test",
    "/there Bearer ak_test",
    "/away Bearer ak_test",
    "/there null",
  ]);
  assert.equal(seen.filter((line) => line.startsWith("/loop")).length, 21);
});

Deno.test("204 → no body; a closed port → ECONNREFUSED", async () => {
  let closed = "";
  await withServer(() => new Response(null, { status: 204 }), async (send, url) => {
    const answer = await send(url);
    assert.deepEqual([answer.status, answer.body], [204, null]);
    closed = url;
  });
  await withServer(() => new Response(), async (send) => {
    await assert.rejects(send(closed), { code: "ECONNREFUSED" });
  });
});

Deno.test("the signal, before the request, before the answer and within it → its reason", async () => {
  const reason = new Error("enough");
  const never = new Promise<Response>(() => {});
  const started = Promise.withResolvers<void>();
  const endless = () =>
    new Response(
      new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(9)) }),
    );
  const answer: Answer = ({ url }) => {
    started.resolve();
    return url.endsWith("/never") ? never : endless();
  };
  await withServer(answer, async (send, url) => {
    await assert.rejects(send(url, { signal: AbortSignal.abort(reason) }), reason);
    const late = new AbortController();
    const asked = send(`${url}/never`, { signal: late.signal });
    await started.promise;
    late.abort(reason);
    await assert.rejects(asked, reason);
    const within = new AbortController();
    const body = (await send(url, { signal: within.signal })).body!.getReader();
    assert.equal((await body.read()).value!.length, 9);
    within.abort(reason);
    await assert.rejects(body.read(), reason);
  });
});

Deno.test("a source that fails, an answer that ends too early, a refusal before the body is sent → the error, and no wait", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const answers = [
    "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12345",
    "HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno",
  ];
  const serving = (async () => {
    for (const text of answers) {
      const client = await listener.accept();
      await client.read(new Uint8Array(1024));
      await client.write(new TextEncoder().encode(text));
      await client.closeWrite();
      while (await client.read(new Uint8Array(65_536)) !== null);
      client.close();
    }
    listener.close();
  })();
  await withServer(async (request) => new Response(await request.text()), async (send, url) => {
    const failing = new ReadableStream({
      pull: (controller) => controller.error(new Error("changed")),
    });
    await assert.rejects(send(url, { method: "PUT", body: failing }), /changed/);
    const raw = `http://127.0.0.1:${listener.addr.port}`;
    await assert.rejects((await send(raw)).text(), { code: "ECONNRESET" });
    const refused = await send(raw, { method: "PUT", body: new Blob([new Uint8Array(MEBIBYTE)]) });
    assert.deepEqual([refused.status, await refused.text()], [413, "no"]);
  });
  await serving;
});
