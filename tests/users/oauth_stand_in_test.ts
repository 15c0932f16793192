/** The stand-in answers as Auth's OAuth server does (internal/api/oauthserver). */
import assert from "node:assert/strict";
import { PUBLISHABLE_KEY, SUPABASE_URL } from "../conformance/client.ts";
import {
  as,
  authorize,
  basicOf,
  claimsIn,
  codeFor,
  consent,
  details,
  exchange,
  REDIRECT_URI,
  register,
  registerClient,
  send,
  VERIFIER,
  waiting,
} from "./oauth_requests.ts";
import { newName, signIn } from "./signed_in.ts";

Deno.test("a client with redirect_uris that lead nowhere safe, or none, or contradictory metadata → 400", async () => {
  const uris = [undefined, [], ["/callback"], ["http://connector.example/"]];
  const unsafe = [["javascript:alert(1)"], [`${REDIRECT_URI}#fragment`]];
  for (const redirect_uris of [...uris, ...unsafe, Array(11).fill(REDIRECT_URI)]) {
    const { status, body } = await register({ redirect_uris });
    assert.deepEqual([status, body.error_code], [400, "validation_failed"], String(redirect_uris));
  }
  for (
    const bad of [
      { client_type: "public", token_endpoint_auth_method: "client_secret_basic" },
      { grant_types: ["password"] },
      { token_endpoint_auth_method: "private_key_jwt" },
      { client_name: "x".repeat(1025) },
    ]
  ) {
    const { status, body } = await register({ redirect_uris: [REDIRECT_URI], ...bad });
    assert.deepEqual([status, body.error_code], [400, "validation_failed"], JSON.stringify(bad));
  }
  assert.equal((await register("{")).body.error_code, "bad_json");
  for (const uri of ["http://localhost:8080/", "http://127.0.0.1/", "cursor://callback/x"]) {
    assert.equal((await register({ redirect_uris: [uri] })).status, 201, uri);
  }
  const { body } = await register({ redirect_uris: [REDIRECT_URI], client_type: "public" });
  assert.deepEqual([body.token_endpoint_auth_method, body.client_secret], ["none", undefined]);
});

Deno.test("/authorize of an unknown client or to another address → 400; any other mistake → back to the client with the error", async () => {
  const client = await registerClient();
  const refused: [changes: Record<string, string>, code: string][] = [
    [{ client_id: crypto.randomUUID() }, "oauth_client_not_found"],
    [{ client_id: "some" }, "oauth_client_not_found"],
    [{ client_id: "" }, "validation_failed"],
    [{ redirect_uri: "" }, "validation_failed"],
    [{ redirect_uri: "https://evil.example/" }, "validation_failed"],
  ];
  for (const [changes, code] of refused) {
    assert.deepEqual(await authorize(client, changes), { status: 400, location: null, code });
  }
  for (
    const bad of [
      { code_challenge: "" },
      { code_challenge: "short" },
      { code_challenge_method: "S512" },
      { response_type: "token" },
      { scope: "openid admin" },
      { resource: "/mcp" },
      { resource: "https://ref.example/mcp#part" },
    ]
  ) {
    const { status, location } = await authorize(client, bad);
    assert.equal(status, 302);
    assert.equal(`${location!.origin}${location!.pathname}`, REDIRECT_URI, JSON.stringify(bad));
    assert.equal(location!.searchParams.get("error"), "invalid_request");
    assert.equal(location!.searchParams.get("state"), "s");
  }
});

Deno.test("a request's details and consent, by another user or from another origin → refused, and the request still waits", async () => {
  const client = await registerClient("none", { client_name: "A connector" });
  const id = await waiting(client, { scope: "openid profile" });
  const [ada, eve] = [await signIn(newName("ada")), await signIn(newName("eve"))];
  for (const token of ["a.b.c", `ak_${"0".repeat(64)}`]) {
    assert.equal((await details(id, token)).status, 403);
    assert.equal((await consent(id, token)).status, 403);
  }
  // Whoever has not looked cannot answer.
  assert.equal((await consent(id, ada.key)).body.error_code, "oauth_authorization_not_found");
  const foreign = { headers: { origin: "https://evil.example" } };
  assert.deepEqual((await details(id, ada.key, foreign)).body.msg, "unauthorized request origin");

  const shown = await details(id, ada.key);
  assert.deepEqual(shown.body, {
    authorization_id: id,
    redirect_uri: REDIRECT_URI,
    client: { id: client.client_id, name: "A connector" },
    user: { id: ada.sub, email: `${ada.sub}@users.local` },
    scope: "openid profile",
  });
  for (const answer of [await details(id, eve.key), await consent(id, eve.key)]) {
    assert.deepEqual([answer.status, answer.body.error_code], [
      404,
      "oauth_authorization_not_found",
    ]);
  }
  assert.equal((await consent(id, ada.key, "maybe")).body.error_code, "validation_failed");
  const own = await consent(id, ada.key);
  assert.equal(own.status, 200);
  assert.ok(new URL(own.body.redirect_url).searchParams.has("code"));
  assert.equal((await consent(id, ada.key)).body.error_code, "validation_failed");
});

Deno.test("a user who has agreed to these scopes → agrees at once next time, until the grant is withdrawn", async () => {
  const client = await registerClient();
  const { key } = await signIn(newName("ada"));
  const code = await codeFor(client, { scope: "openid email", token: key });
  const { body: tokens } = await exchange({ code, client_id: client.client_id });
  const again = await details(await waiting(client, { scope: "email" }), key);
  assert.ok(new URL(again.body.redirect_url).searchParams.has("code"));
  assert.equal((await details(await waiting(client, { scope: "phone" }), key)).body.scope, "phone");

  const granted = await as(key, "/user/oauth/grants");
  assert.deepEqual(granted.body[0].client, { id: client.client_id });
  const withdraw = `/user/oauth/grants?client_id=${client.client_id}`;
  assert.equal((await as(key, withdraw, { method: "DELETE" })).status, 204);
  const gone = await as(key, withdraw, { method: "DELETE" });
  assert.deepEqual([gone.status, gone.body.error_code], [404, "oauth_consent_not_found"]);
  const used = await as(tokens.access_token, "/user");
  assert.deepEqual([used.status, used.body.error_code], [403, "session_not_found"]);
  const refreshed = await exchange({
    grant_type: "refresh_token",
    refresh_token: tokens.refresh_token,
    client_id: client.client_id,
  });
  assert.equal(refreshed.body.error_code, "refresh_token_not_found");
  const asked = await details(await waiting(client, { scope: "email" }), key);
  assert.equal(asked.body.scope, "email");
});

Deno.test("a code with another verifier, for another client, without the client's secret, by another method → refused, and the code still works once", async () => {
  const client = await registerClient("client_secret_basic");
  const other = await registerClient();
  const code = await codeFor(client);
  const own = basicOf(client);
  const { client_id, client_secret } = client;
  const asPost = { client_id, client_secret: client_secret! };
  const wrong = { code: "invalid_credentials" };
  const refused: [form: Record<string, string>, headers: Record<string, string>, why: object][] = [
    [{ code }, {}, wrong],
    [{ code, client_id }, {}, wrong],
    [{ code, ...asPost }, {}, wrong],
    [{ code }, basicOf(client, "wrong"), wrong],
    [{ code }, { authorization: "Basic !" }, wrong],
    [{ code, client_id: crypto.randomUUID() }, {}, wrong],
    [{ code, client_id: other.client_id }, {}, { error: "invalid_grant" }],
    [{ code, code_verifier: "w".repeat(64) }, own, { error: "invalid_grant" }],
    [{ code, redirect_uri: "https://evil.example/" }, own, { error: "invalid_grant" }],
    [{ code: "unknown" }, own, { error: "invalid_grant" }],
    [{ code: "" }, own, { error: "invalid_request" }],
    [{ code, grant_type: "" }, own, { error: "invalid_request" }],
    [{ code, grant_type: "password" }, own, { error: "unsupported_grant_type" }],
  ];
  for (const [form, headers, why] of refused) {
    const { status, body } = await exchange(form, headers);
    const told = "code" in why ? { code: body.error_code } : { error: body.error };
    assert.deepEqual([status, told], [400, why], JSON.stringify(form));
  }
  const { status, body } = await exchange({ code }, own);
  assert.equal(status, 200);
  assert.equal("id_token" in body, false, "openid was not asked for");
  assert.equal((await exchange({ code }, own)).status, 400);

  const refresh = (headers: Record<string, string>, others = {}) =>
    exchange(
      { grant_type: "refresh_token", refresh_token: body.refresh_token, ...others },
      headers,
    );
  assert.equal((await refresh({}, { client_id: other.client_id })).body.error, "invalid_client");
  assert.equal((await refresh(own)).status, 200);
  assert.equal((await refresh(own)).body.error_code, "refresh_token_not_found");
});

Deno.test("a client that is registered for codes alone → no refresh", async () => {
  const client = await registerClient("none", { grant_types: ["authorization_code"] });
  const { body } = await exchange({ code: await codeFor(client), client_id: client.client_id });
  const { status, body: refused } = await exchange({
    grant_type: "refresh_token",
    refresh_token: body.refresh_token,
    client_id: client.client_id,
  });
  assert.deepEqual([status, refused.error], [400, "unsupported_grant_type"]);
});

Deno.test("a code exchanged as JSON, with the scope openid → an id_token with the nonce, and the claims that the scopes reach", async () => {
  const client = await registerClient("client_secret_post");
  const { key, sub } = await signIn(newName("ada"));
  const code = await codeFor(client, { scope: "openid email", nonce: "n", token: key });
  const json = { "content-type": "application/json" };
  const { client_id, client_secret = "" } = client;
  const { status, body } = await exchange({ code, client_id, client_secret }, json);
  assert.equal(status, 200);
  const { aud, nonce, email, name, sub: subject } = claimsIn(body.id_token);
  assert.deepEqual({ aud, nonce, email, name, subject }, {
    aud: [client_id],
    nonce: "n",
    email: `${sub}@users.local`,
    name: undefined,
    subject: sub,
  });
  assert.equal(claimsIn(body.access_token)["client_id"], client_id);

  const told = await as(body.access_token, "/oauth/userinfo");
  assert.deepEqual(told.body, { sub, email: `${sub}@users.local`, email_verified: true });
  assert.deepEqual((await as(key, "/oauth/userinfo")).body, { sub });
  assert.equal((await as("a.b.c", "/oauth/userinfo")).status, 403);
  // A client has no key of the project.
  const byClient = await fetch(`${SUPABASE_URL}/auth/v1/oauth/userinfo`, {
    headers: { authorization: `Bearer ${body.access_token}` },
  });
  assert.equal((await byClient.json()).sub, sub);
});

Deno.test("JSON with fields of other types that Auth does not read → a token; JSON that is broken → the refusal of the client, or of the body", async () => {
  const client = await registerClient("client_secret_basic");
  const headers = { ...basicOf(client), "content-type": "application/json" };
  const fields = { grant_type: "authorization_code", code_verifier: VERIFIER };
  const post = (body: string, from: Record<string, string> = headers) =>
    send("/oauth/token", { method: "POST", body, headers: from });
  const code = await codeFor(client);
  for (const body of ["{", "[]", "7", JSON.stringify({ ...fields, code: 7 })]) {
    assert.equal((await post(body)).body.error, "invalid_request", body);
    const { "content-type": json } = headers;
    const anonymous = await post(body, { "content-type": json });
    assert.equal(anonymous.body.error_code, "invalid_credentials", body);
  }
  const { status } = await post(
    JSON.stringify({ ...fields, code, redirect_uri: null, retries: 3, extra: { a: [] } }),
  );
  assert.equal(status, 200);
});

Deno.test("a user who signs out everywhere → no refresh for the clients that act for the user", async () => {
  const client = await registerClient();
  const { key } = await signIn(newName("ada"));
  const { client_id } = client;
  const { body } = await exchange({ code: await codeFor(client, { token: key }), client_id });
  const out = await send("/logout", {
    method: "POST",
    headers: { apikey: PUBLISHABLE_KEY!, authorization: `Bearer ${key}` },
  });
  assert.equal(out.status, 204);
  const form = { grant_type: "refresh_token", refresh_token: body.refresh_token, client_id };
  assert.equal((await exchange(form)).body.error_code, "refresh_token_not_found");
  assert.equal((await as(body.access_token, "/oauth/userinfo")).status, 403);
});

Deno.test("the consent page → no other site can show it in a frame", async () => {
  const page = await fetch(`${SUPABASE_URL}/oauth/consent?authorization_id=x`);
  assert.match(await page.text(), /frame-ancestors 'none'/);
  assert.equal(page.headers.get("content-security-policy"), "frame-ancestors 'none'");
});

Deno.test("the metadata of Auth, where OAuth clients look for it → the same document, for ten minutes", async () => {
  const texts = await Promise.all(
    [
      "/auth/v1/.well-known/oauth-authorization-server",
      "/.well-known/oauth-authorization-server/auth/v1",
      "/.well-known/openid-configuration/auth/v1",
    ].map(async (path) => {
      const answer = await fetch(SUPABASE_URL + path);
      assert.equal(answer.headers.get("cache-control"), "public, max-age=600");
      return await answer.text();
    }),
  );
  assert.equal(new Set(texts).size, 1);
  assert.equal(JSON.parse(texts[0]!).issuer, `${SUPABASE_URL}/auth/v1`);
  const unknown = await fetch(`${SUPABASE_URL}/.well-known/oauth-authorization-server`);
  await unknown.body?.cancel();
  assert.equal(unknown.status, 404);
});
