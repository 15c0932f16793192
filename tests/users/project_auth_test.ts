// What Supabase Auth answers, by its public source (github.com/supabase/auth, commit bc32168):
//
// - GET /.well-known/jwks.json (internal/api/jwks.go): {keys}, without the legacy secret, which is
//   symmetric; `cache-control: public, max-age=600`. A project that has only that: {"keys": []}.
// - A token (internal/tokens/service.go, AccessTokenClaims): iss, sub, aud, exp, iat, email, phone,
//   app_metadata, user_metadata, role, aal, amr, session_id, is_anonymous; tokens of OAuth clients
//   also client_id and scope. `aud` is a text (MarshalSingleStringAsArray is off); a hook may
//   write a text or a list. There is no nbf, unless a hook writes one.
// - GET /user (internal/api/auth.go, user.go): the user, or an error, which is {code, message} in
//   API version 2024-01-01: 401 no_authorization; 403 bad_jwt, user_not_found, session_not_found
//   (signed out), user_banned; 400 bad_jwt for a sub that is no UUID; 500 unexpected_failure.
// - An HS256 token is verified with the legacy secret, unless its kid names a key (parseJWTClaims).
// - An answer without a code is not from Auth: the gateway answers 401 {"message": "Invalid API
//   key"}.
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { artifactTest } from "../conformance/artifacts.ts";
import { type Answer, assertError, SUPABASE_URL } from "../conformance/client.ts";
import { type OwnFunction, startOwnFunction } from "../own_function/own_function.ts";
import { type Intercept, type Passing, type Proxy, startProxy } from "../own_function/proxy.ts";
import { jwtSecret } from "../../packages/local/tests/storage/own_bucket.ts";
import { newName, signIn } from "./signed_in.ts";
import { byEllipticCurve, byRsa, bySecret, claimsOf, written } from "./written_token.ts";

const JWKS = "/auth/v1/.well-known/jwks.json";
const USER = "/auth/v1/user";
const HS256 = { alg: "HS256", typ: "JWT" };

function list(own: OwnFunction, token: string): Promise<Answer<unknown>> {
  return own.post("/list", { as: { headers: { authorization: `Bearer ${token}` } }, body: {} });
}

function callsOf(proxy: Proxy, path: string): Passing[] {
  return proxy.passed.filter((passing) => passing.path === path);
}

/** Answers one path instead of the stack's Auth. */
function answering(path: string, body: unknown, status = 200): Intercept {
  const headers = { "x-supabase-api-version": "2024-01-01" };
  return (passing) => passing.path === path ? Response.json(body, { status, headers }) : undefined;
}

Deno.test("tokens of users → the keys are fetched once; requests of agents and the operator → never", async () => {
  await using proxy = startProxy(SUPABASE_URL);
  await using own = await startOwnFunction({ supabaseUrl: proxy.url });
  const name = newName("ada");
  const body = { agent_id: name.id };
  assert.equal((await own.post("/list", { as: "operator", body })).status, 200);
  assert.equal(proxy.passed.filter(({ path }) => path.startsWith("/auth/")).length, 0);
  const users = await Promise.all(
    Array.from({ length: 10 }, () => signIn(name, { url: proxy.url })),
  );
  const answers = await Promise.all(users.map(({ key }) => list(own, key)));
  assert.deepEqual(answers.map(({ status }) => status), users.map(() => 200));
  assert.equal((await list(own, users[0]!.key)).status, 200);
  assert.equal(callsOf(proxy, JWKS).length, 1);
  assert.equal(callsOf(proxy, USER).length, 0);
});

Deno.test("fifty tokens with made-up key ids → 401, and the keys are fetched once", async () => {
  await using proxy = startProxy(SUPABASE_URL);
  await using own = await startOwnFunction({ supabaseUrl: proxy.url });
  const claims = claimsOf(newName("ada").id, proxy.url);
  for (let time = 0; time < 50; time++) {
    const header = { alg: "ES256", typ: "JWT", kid: crypto.randomUUID() };
    assertError(await list(own, written(claims, { header })), 401, "unauthenticated");
  }
  assert.equal(callsOf(proxy, JWKS).length, 1);
  assert.equal(callsOf(proxy, USER).length, 0);
});

Deno.test("tokens that are refused for another reason than the signature → Auth is not asked", async () => {
  await using proxy = startProxy(SUPABASE_URL);
  await using own = await startOwnFunction({ supabaseUrl: proxy.url });
  const valid = claimsOf(newName("ada").id, proxy.url);
  const hopeless = [{ exp: 1 }, { iss: "other" }, { app_metadata: {} }, { is_anonymous: true }];
  for (const claims of hopeless) {
    for (const header of [undefined, HS256]) {
      const token = written({ ...valid, ...claims }, { ...(header && { header }) });
      assertError(await list(own, token), 401, "unauthenticated");
    }
  }
  assert.deepEqual(proxy.passed.filter(({ path }) => path.startsWith("/auth/")), []);
});

Deno.test("a token of a key that has left the JWKS → 401; of the key in its place, ES256 or RS256 → 200", async () => {
  const ecKey = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const rsaKey = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const keys = [
    { ...ecKey.publicKey.export({ format: "jwk" }), kid: "ec", alg: "ES256" },
    { ...rsaKey.publicKey.export({ format: "jwk" }), kid: "rsa", alg: "RS256" },
  ].map((key) => ({ ...key, use: "sig", key_ops: ["verify"] }));
  await using proxy = startProxy(SUPABASE_URL, answering(JWKS, { keys }));
  await using own = await startOwnFunction({ supabaseUrl: proxy.url });
  const name = newName("ada");
  const claims = claimsOf(name.id, proxy.url);
  const left = await signIn(name, { url: proxy.url });
  assertError(await list(own, left.key), 401, "unauthenticated");
  const byEc = written(claims, {
    header: { alg: "ES256", kid: "ec" },
    signer: byEllipticCurve(ecKey.privateKey),
  });
  const byRsaKey = written({ ...claims, aud: ["authenticated"] }, {
    header: { alg: "RS256", kid: "rsa" },
    signer: byRsa(rsaKey.privateKey),
  });
  for (const token of [byEc, byRsaKey]) assert.equal((await list(own, token)).status, 200);
});

Deno.test("a token by the project's legacy secret → Auth is asked each time, and its word counts", async () => {
  await using proxy = startProxy(SUPABASE_URL);
  await using own = await startOwnFunction({ supabaseUrl: proxy.url });
  const token = written(claimsOf(newName("ada").id, proxy.url), {
    header: HS256,
    signer: bySecret(await jwtSecret()),
  });
  for (let time = 0; time < 2; time++) assert.equal((await list(own, token)).status, 200);
  const asked = callsOf(proxy, USER);
  assert.deepEqual(asked.map(({ headers }) => headers.get("authorization")), [
    `Bearer ${token}`,
    `Bearer ${token}`,
  ]);
  assert.equal(callsOf(proxy, JWKS).length, 0);

  const verdicts: [number, string][] = [
    [403, "bad_jwt"],
    [403, "session_not_found"],
    [403, "user_not_found"],
    [403, "user_banned"],
    [400, "bad_jwt"],
  ];
  for (const [status, code] of verdicts) {
    proxy.intercept(answering(USER, { code, message: "No." }, status));
    assertError(await list(own, token), 401, "unauthenticated");
  }
  const noVerdicts: [number, unknown][] = [
    [401, { message: "Invalid API key" }],
    [404, { message: "no Route matched with those values" }],
    [429, { code: "over_request_rate_limit", message: "Slowly." }],
    [500, { code: "unexpected_failure", message: "Unexpected failure." }],
    [503, { message: "The service is not running at the moment; try again." }],
  ];
  for (const [status, body] of noVerdicts) {
    proxy.intercept(answering(USER, body, status));
    assertError(await list(own, token), 503, "upstream_unavailable");
  }
  proxy.intercept(({ path }) => path === USER ? new Response("<h1>Hello</h1>") : undefined);
  assertError(await list(own, token), 503, "upstream_unavailable");
  proxy.letPass();
  assert.equal((await list(own, token)).status, 200);
});

Deno.test("a token by the legacy secret that Auth attributes to another user → 401", async () => {
  await using proxy = startProxy(SUPABASE_URL);
  await using own = await startOwnFunction({ supabaseUrl: proxy.url });
  const claims = claimsOf(newName("ada").id, proxy.url);
  const token = written(claims, { header: HS256, signer: bySecret(await jwtSecret()) });
  const user = { aud: "authenticated", role: "authenticated", app_metadata: {} };
  for (const id of [crypto.randomUUID(), undefined, null, "", [claims["sub"]]]) {
    proxy.intercept(answering(USER, { ...user, id }));
    assertError(await list(own, token), 401, "unauthenticated");
  }
  proxy.intercept(answering(USER, { ...user, id: claims["sub"] }));
  assert.equal((await list(own, token)).status, 200);
});

Deno.test("Auth does not give its keys → 503, not 401; it does again → 200", async () => {
  await using proxy = startProxy(SUPABASE_URL);
  await using own = await startOwnFunction({ supabaseUrl: proxy.url });
  const { key } = await signIn(newName("ada"), { url: proxy.url });
  const troubles: (() => Response)[] = [
    () => new Response("overloaded", { status: 503 }),
    () => Response.json({ message: "no Route matched with those values" }, { status: 404 }),
    () => new Response("<h1>Hello</h1>"),
    () => Response.json({}),
    () => Response.json({ keys: "none" }),
    () => Response.json([]),
  ];
  for (const trouble of troubles) {
    proxy.intercept(({ path }) => path === JWKS ? trouble() : undefined);
    assertError(await list(own, key), 503, "upstream_unavailable");
  }
  proxy.intercept(answering(JWKS, { keys: [] }));
  assertError(await list(own, key), 401, "unauthenticated");
});

Deno.test("an issuer at the project's public URL → taken where PUBLIC_SUPABASE_URL says so, beside SUPABASE_URL", async () => {
  await using proxy = startProxy(SUPABASE_URL);
  await using own = await startOwnFunction({
    supabaseUrl: proxy.url,
    environment: { PUBLIC_SUPABASE_URL: "https://files.example" },
  });
  for (const url of ["https://files.example", proxy.url]) {
    assert.equal((await list(own, (await signIn(newName("ada"), { url })).key)).status, 200);
  }
  const { key } = await signIn(newName("ada"), { url: "https://other.example" });
  assertError(await list(own, key), 401, "unauthenticated");
});

artifactTest(
  "users of one agent beyond a minute's limit → 429 together; the agent's key and other users go on",
  async ({ planner }) => {
    await using own = await startOwnFunction({
      environment: { RATE_LIMIT_REQUESTS_PER_MINUTE: "2" },
    });
    const users = [await signIn(planner), await signIn(planner)] as const;
    for (const { key } of users) assert.equal((await list(own, key)).status, 200);
    for (const { key } of users) assertError(await list(own, key), 429, "rate_limited");
    for (const { key } of [planner, await signIn(newName("grace"))]) {
      assert.equal((await list(own, key)).status, 200);
    }
  },
);
