import assert from "node:assert/strict";
import {
  assertError,
  assertInvalid,
  functionUrl,
  headersOf,
  ISO_TIMESTAMP,
  type JsonObject,
  post,
  send,
} from "./client.ts";
import { artifactTest, inbox, listed, publish, register, tryGrant } from "./artifacts.ts";
import { cardsOf, FUNCTIONS } from "../operations/cards.ts";

/** Paths of GET requests, on both functions. */
const READ_PATHS = ["/health", "/metrics", "/whoami"];

/** Paths of GET requests, on one function. */
const LINKS: Record<string, readonly string[]> = { "agent-artifacts": ["/d/{grant_token}"] };

for (const name of FUNCTIONS) {
  const operations = cardsOf(name)
    .flatMap(([path, { document }]) => document === "described" ? [path] : []);

  Deno.test(`GET /${name}/health → 200 {"status":"ok"}`, async () => {
    const answer = await send(`/${name}/health`, { method: "GET" });
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.body, { status: "ok" });
  });

  Deno.test(`GET /${name}/openapi.json → every path with its schema and errors`, async () => {
    const answer = await send(`/${name}/openapi.json`, { method: "GET" });
    assert.equal(answer.status, 200);
    assert.match(String(answer.body["openapi"]), /^3\.1\./);
    const paths = answer.body["paths"] as Record<string, Record<string, JsonObject>>;
    const readPaths = [...READ_PATHS, ...LINKS[name] ?? []];
    assert.deepEqual(Object.keys(paths).sort(), [...operations, ...readPaths].sort());
    for (const [path, item] of Object.entries(paths)) {
      if (readPaths.includes(path)) {
        assert.ok(item["get"], `${path} has no get`);
        continue;
      }
      const operation = item["post"];
      assert.ok(operation, `${path} has no post`);
      const text = JSON.stringify(operation);
      assert.ok(text.includes('"requestBody"') && text.includes('"properties"'), path);
      assert.ok(text.includes("invalid_request"), path);
    }
  });

  Deno.test(`POST and GET /${name}/nothing-here → 404 not_found, whoever asks`, async () => {
    assertError(await post(`/${name}/nothing-here`, { as: "nobody" }), 404, "not_found");
    assertError(await post(`/${name}/nothing-here`, { as: "operator" }), 404, "not_found");
    assertError(await send(`/${name}/nothing-here`, { method: "GET" }), 404, "not_found");
  });

  Deno.test(`POST /${name}/health → 405 with allow: GET, OPTIONS`, async () => {
    const answer = await post(`/${name}/health`, { as: "nobody" });
    assertError(answer, 405, "method_not_allowed");
    assert.equal(answer.headers.get("allow"), "GET, OPTIONS");
  });

  Deno.test(`OPTIONS /${name}/health → allowed for any origin, without cookies`, async () => {
    const response = await fetch(functionUrl(`/${name}/health`), {
      method: "OPTIONS",
      headers: {
        origin: "https://app.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization, apikey, content-type, x-client-info",
      },
    });
    await response.body?.cancel();
    assert.ok(response.ok);
    assert.equal(response.headers.get("access-control-allow-origin"), "*");
    assert.equal(response.headers.get("access-control-allow-credentials"), null);
    assert.match(response.headers.get("access-control-allow-methods") ?? "", /POST/);
    const allowed = (response.headers.get("access-control-allow-headers") ?? "").toLowerCase();
    for (const header of ["authorization", "apikey", "content-type", "x-client-info"]) {
      assert.ok(allowed.includes(header), header);
    }
    assert.notEqual(response.headers.get("x-request-id"), null);
  });
}

Deno.test("POST of another spelling of a path → 404 not_found, as for every path that is not listed", async () => {
  const spellings = ["/list/", "/%6cist", "/list//", "//list", "/LIST", "/list%2f"];
  for (const spelling of [...spellings, "/health/", "/openapi%2ejson"]) {
    const answer = await post(`/agent-artifacts${spelling}`, { as: "operator" });
    assertError(answer, 404, "not_found");
  }
});

for (const method of ["GET", "PUT", "DELETE", "PATCH"]) {
  Deno.test(`${method} /register → 405 with allow: POST, OPTIONS`, async () => {
    const answer = await send("/agent-artifacts/register", {
      method,
      headers: headersOf("operator"),
    });
    assertError(answer, 405, "method_not_allowed");
    assert.equal(answer.headers.get("allow"), "POST, OPTIONS");
  });
}

Deno.test("any request with an origin → access-control-allow-origin: *", async () => {
  for (const path of ["/agent-artifacts/health", "/agent-artifacts/nothing"]) {
    const answer = await send(path, { headers: { origin: "https://app.example" } });
    assert.equal(answer.headers.get("access-control-allow-origin"), "*");
  }
});

Deno.test("x-request-id: a sane one → echoed; another or none → a fresh one", async () => {
  const sane = "trace-1:a.b_C";
  const echoed = await send("/agent-artifacts/health", { headers: { "x-request-id": sane } });
  assert.equal(echoed.headers.get("x-request-id"), sane);
  for (const odd of ["a b", "x".repeat(65), "<script>", "{}"]) {
    const answer = await send("/agent-artifacts/health", { headers: { "x-request-id": odd } });
    const requestId = answer.headers.get("x-request-id") ?? "";
    assert.notEqual(requestId, odd);
    assert.match(requestId, /^[A-Za-z0-9._:-]{1,64}$/);
  }
  const first = await send("/agent-artifacts/health", {});
  const second = await send("/agent-artifacts/health", {});
  assert.notEqual(first.headers.get("x-request-id"), second.headers.get("x-request-id"));
});

artifactTest(
  "/list → 200 as JSON, with x-request-id and cache-control: no-store",
  async ({ planner }) => {
    const answer = await post("/agent-artifacts/list", {
      as: planner,
      body: { agent_id: planner.id },
    });
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get("content-type"), "application/json");
    assert.equal(answer.headers.get("cache-control"), "no-store");
    assert.match(answer.headers.get("x-request-id") ?? "", /^[A-Za-z0-9._:-]{1,64}$/);
  },
);

artifactTest("a JSON body under any content-type or none → 200", async ({ planner }) => {
  const body = JSON.stringify({ agent_id: planner.id });
  for (const type of ["application/x-www-form-urlencoded", "text/plain", "application/json"]) {
    const answer = await send("/agent-artifacts/list", {
      method: "POST",
      body,
      headers: { ...headersOf(planner), "content-type": type },
    });
    assert.equal(answer.status, 200, type);
  }
  const untyped = await send("/agent-artifacts/list", {
    method: "POST",
    body: new TextEncoder().encode(body),
    headers: headersOf(planner),
  });
  assert.equal(untyped.status, 200);
});

Deno.test("/register with an empty body or {} → 422 that names every required field", async () => {
  for (const body of ["", "  \n", "{}"]) {
    const answer = await send("/agent-artifacts/register", {
      method: "POST",
      body,
      headers: headersOf("operator"),
    });
    assertInvalid(answer, "key", "mime", "size", "ttl_days");
  }
});

artifactTest(
  "/register with a body that is not a JSON object → 400 invalid_json, nothing is registered",
  async ({ planner }) => {
    const invalidUtf8 = new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]);
    for (
      const body of ["{", "[]", "1", '"text"', "null", "{'a': 1}", "[".repeat(60_000), invalidUtf8]
    ) {
      const answer = await send("/agent-artifacts/register", {
        method: "POST",
        body,
        headers: headersOf(planner),
      });
      assertError(answer, 400, "invalid_json");
    }
    assert.deepEqual(await listed(planner), []);
  },
);

artifactTest(
  "a body over 64 KiB, its length announced or not → 413 body_too_large; one of 64 KiB → 200",
  async ({ planner }) => {
    const start = `{"agent_id": ${JSON.stringify(planner.id)}`;
    const fill = (bytes: number) => `${start}${" ".repeat(bytes - start.length - 1)}}`;
    const request = { method: "POST", headers: headersOf(planner) };

    const atLimit = await send("/agent-artifacts/list", { ...request, body: fill(64 * 1024) });
    assert.equal(atLimit.status, 200);
    const announced = await send("/agent-artifacts/list", {
      ...request,
      body: fill(64 * 1024 + 1),
    });
    assertError(announced, 413, "body_too_large");
    const chunked = await send("/agent-artifacts/list", {
      ...request,
      body: new Blob([fill(64 * 1024 + 1)]).stream(),
    });
    assertError(chunked, 413, "body_too_large");
  },
);

artifactTest(
  "/commit, /register, /grant, /inbox → timestamps in UTC with milliseconds and Z",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    assert.match(artifact.created_at, ISO_TIMESTAMP);
    assert.match(artifact.committed_at ?? "", ISO_TIMESTAMP);
    assert.match(artifact.expires_at ?? "", ISO_TIMESTAMP);
    assert.match((await register(planner)).upload_expires_at, ISO_TIMESTAMP);

    const whole = new Date(Math.ceil(Date.now() / 1000) * 1000 + 60_000).toISOString();
    const expires_at = whole.replace(".000Z", "+00:00");
    const granted = await tryGrant(planner, artifact, { to: builder, expires_at });
    assert.equal(granted.body.expires_at, whole);
    const [entry] = await inbox(builder);
    assert.match(entry?.granted_at ?? "", ISO_TIMESTAMP);
    assert.equal(entry?.expires_at, whole);
  },
);
