import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { request as sendRequest } from "node:http";
import { gunzipSync, gzipSync } from "node:zlib";
import { KEYS, openGateway } from "./own_gateway.ts";

const USER_JWT = "a.user.jwt";

Deno.test("/rest/v1 without an apikey → 401", async () => {
  await using gateway = await openGateway();
  const response = await fetch(`${gateway.url}/rest/v1/x`, {
    headers: { authorization: `Bearer ${KEYS.secretKey}` },
  });
  assert.equal(response.status, 401);
  assert.equal((await response.json()).message, "No API key found in request");
});

Deno.test("/rest/v1 with an unknown sb_ key, in apikey or as Bearer → 401", async () => {
  await using gateway = await openGateway();
  const unknown = "sb_secret_unknown";
  for (
    const headers of [{ apikey: unknown }, {
      apikey: KEYS.publishableKey,
      authorization: `Bearer ${unknown}`,
    }]
  ) {
    const response = await fetch(`${gateway.url}/rest/v1/x`, { headers });
    assert.equal(response.status, 401);
    assert.equal((await response.json()).message, "Invalid API key");
  }
});

Deno.test("/storage/v1 with an unknown key → passed on: signed URLs ignore it", async () => {
  await using gateway = await openGateway();
  const authorization = "Bearer sb_secret_unknown";
  const seen = await gateway.see("/storage/v1/x", { apikey: "sb_secret_unknown", authorization });
  assert.equal(seen.headers["authorization"], authorization);
});

for (const prefix of ["/rest/v1", "/storage/v1"]) {
  for (
    const [name, headers, authorization] of [
      ["the secret key", { apikey: KEYS.secretKey }, `Bearer ${KEYS.serviceRoleKey}`],
      ["the publishable key", { apikey: KEYS.publishableKey }, `Bearer ${KEYS.anonKey}`],
      [
        "the secret key in both headers",
        { apikey: KEYS.secretKey, authorization: `Bearer ${KEYS.secretKey}` },
        `Bearer ${KEYS.serviceRoleKey}`,
      ],
      [
        "the publishable key and a user's JWT",
        { apikey: KEYS.publishableKey, authorization: `Bearer ${USER_JWT}` },
        `Bearer ${USER_JWT}`,
      ],
      [
        "the legacy service_role key",
        { apikey: KEYS.serviceRoleKey },
        `Bearer ${KEYS.serviceRoleKey}`,
      ],
    ] as const
  ) {
    Deno.test(`${prefix} with ${name} → upstream sees ${authorization}`, async () => {
      await using gateway = await openGateway();
      const seen = await gateway.see(`${prefix}/a/b?c=d`, headers);
      assert.equal(seen.headers["authorization"], authorization);
      assert.equal(seen.path, "/a/b?c=d");
    });
  }
}

Deno.test("/storage/v1 without any key → passed on without authorization", async () => {
  await using gateway = await openGateway();
  const seen = await gateway.see("/storage/v1/object/sign/x?token=y", {});
  assert.equal(seen.headers["authorization"], undefined);
});

Deno.test("/functions/v1/<name>/… → /<name>/… with the headers as they came, and x-forwarded-*", async () => {
  await using gateway = await openGateway();
  const seen = await gateway.see("/functions/v1/echo/a/b?c=d%20e", {
    authorization: "Bearer ak_1",
    apikey: KEYS.publishableKey,
  });
  assert.equal(seen.path, "/echo/a/b?c=d%20e");
  assert.equal(seen.headers["authorization"], "Bearer ak_1");
  assert.equal(seen.headers["apikey"], KEYS.publishableKey);
  const { host, port } = new URL(gateway.url);
  assert.equal(seen.headers["x-forwarded-host"], host);
  assert.equal(seen.headers["x-forwarded-port"], port);
  assert.equal(seen.headers["x-forwarded-proto"], "http");
  assert.equal(seen.headers["x-forwarded-for"], "127.0.0.1");
});

Deno.test("an unknown function → 404; a path of no service → 404", async () => {
  await using gateway = await openGateway();
  for (const path of ["/functions/v1/nobody/x", "/elsewhere", "/rest/v10/x"]) {
    const response = await fetch(gateway.url + path, { headers: { apikey: KEYS.secretKey } });
    await response.body?.cancel();
    assert.equal(response.status, 404, path);
  }
});

Deno.test("a function that is down → 503 upstream_unavailable in the error envelope", async () => {
  await using gateway = await openGateway();
  const response = await fetch(`${gateway.url}/functions/v1/down/x`, {
    headers: { "x-request-id": "abc" },
  });
  assert.equal(response.status, 503);
  assert.equal(response.headers.get("retry-after"), "1");
  const { error } = await response.json();
  assert.equal(error.code, "upstream_unavailable");
  assert.equal(error.retryable, true);
  assert.equal(error.request_id, "abc");
});

Deno.test("a function that has not started yet → 503 upstream_unavailable, for a body of any length", async () => {
  await using gateway = await openGateway();
  for (const body of ["{}", new Uint8Array(1_000_000)]) {
    const url = `${gateway.url}/functions/v1/starting/x`;
    const response = await fetch(url, { method: "POST", body });
    assert.equal(response.status, 503);
    assert.equal((await response.json()).error.code, "upstream_unavailable");
  }
});

Deno.test("204, HEAD and 206 → passed back as they are", async () => {
  await using gateway = await openGateway((request) => {
    if (request.method === "DELETE") return new Response(null, { status: 204 });
    if (request.method === "HEAD") {
      return new Response(null, { headers: { "content-length": "12345" } });
    }
    return new Response(request.headers.get("range"), {
      status: 206,
      headers: { "content-range": "bytes 0-8/20" },
    });
  });
  const url = `${gateway.url}/functions/v1/echo`;
  const deleted = await fetch(url, { method: "DELETE" });
  assert.equal(deleted.status, 204);
  const head = await fetch(url, { method: "HEAD" });
  assert.equal(head.headers.get("content-length"), "12345");
  const part = await fetch(url, { headers: { range: "bytes=0-8" } });
  assert.equal(part.status, 206);
  assert.equal(part.headers.get("content-range"), "bytes 0-8/20");
  assert.equal(await part.text(), "bytes=0-8");
});

Deno.test("a compressed answer → the compressed bytes", async () => {
  const text = "hello ".repeat(1000);
  await using gateway = await openGateway(() =>
    new Response(new Uint8Array(gzipSync(text)), { headers: { "content-encoding": "gzip" } })
  );
  const { port } = new URL(gateway.url);
  const body = await new Promise<Buffer>((resolve, reject) => {
    sendRequest({ host: "127.0.0.1", port, path: "/functions/v1/echo" }, (response) => {
      assert.equal(response.headers["content-encoding"], "gzip");
      const chunks: Buffer[] = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("end", () => resolve(Buffer.concat(chunks)));
    }).on("error", reject).end();
  });
  assert.equal(gunzipSync(body).toString(), text);
});

Deno.test("an answer that comes before the end of a large body → passed back", async () => {
  await using gateway = await openGateway(() => new Response("too large", { status: 413 }));
  for (let attempt = 0; attempt < 10; attempt++) {
    const response = await fetch(`${gateway.url}/functions/v1/echo`, {
      method: "POST",
      body: new Uint8Array(20_000_000),
    });
    assert.equal(response.status, 413);
    assert.equal(await response.text(), "too large");
  }
});

Deno.test("a body that is broken off → its beginning reaches the upstream, and so does the break", async () => {
  const firstChunk = Promise.withResolvers<string>();
  const brokenOff = Promise.withResolvers<boolean>();
  await using gateway = await openGateway(async (request) => {
    try {
      for await (const chunk of request.body!) firstChunk.resolve(new TextDecoder().decode(chunk));
      brokenOff.resolve(false);
    } catch {
      brokenOff.resolve(true);
    }
    return new Response(null);
  });
  const abort = new AbortController();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode("half")),
  });
  const request = fetch(`${gateway.url}/functions/v1/echo`, {
    method: "PUT",
    body,
    signal: abort.signal,
  });
  assert.equal(await firstChunk.promise, "half");
  abort.abort();
  await assert.rejects(request);
  assert.equal(await brokenOff.promise, true);
});
