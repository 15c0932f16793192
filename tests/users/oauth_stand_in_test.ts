/** The stand-in refuses what Auth's OAuth server refuses (internal/api/oauthserver). */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { SUPABASE_URL } from "../conformance/client.ts";
import { newName, signIn } from "./signed_in.ts";

const OAUTH = `${SUPABASE_URL}/auth/v1/oauth`;
const REDIRECT_URI = "https://connector.example/callback";
const VERIFIER = "v".repeat(64);
const CHALLENGE = createHash("sha256").update(VERIFIER).digest("base64url");

interface Registered {
  readonly client_id: string;
  readonly client_secret?: string;
}

async function register(metadata: object): Promise<{ status: number; body: Registered }> {
  const answer = await fetch(`${OAUTH}/clients/register`, {
    method: "POST",
    body: JSON.stringify(metadata),
  });
  return { status: answer.status, body: await answer.json() };
}

async function registerClient(token_endpoint_auth_method = "none"): Promise<Registered> {
  const given = { redirect_uris: [REDIRECT_URI], token_endpoint_auth_method };
  const { status, body } = await register(given);
  assert.equal(status, 201);
  return body;
}

/** Requests an authorization. Returns the status and the redirect's location. */
async function authorize(
  client: Registered,
  changes: Record<string, string> = {},
): Promise<{ status: number; location: URL | null }> {
  const query = new URLSearchParams({
    client_id: client.client_id,
    redirect_uri: REDIRECT_URI,
    response_type: "code",
    code_challenge: CHALLENGE,
    code_challenge_method: "S256",
    state: "s",
    ...changes,
  });
  const answer = await fetch(`${OAUTH}/authorize?${query}`, { redirect: "manual" });
  await answer.body?.cancel();
  const location = answer.headers.get("location");
  return { status: answer.status, location: location === null ? null : new URL(location) };
}

async function consent(authorization_id: string, token: string): Promise<Response> {
  const answer = await fetch(`${OAUTH}/consent`, {
    method: "POST",
    body: new URLSearchParams({ authorization_id, token, action: "approve" }),
    redirect: "manual",
  });
  await answer.body?.cancel();
  return answer;
}

/** The authorization code after a new user's consent. */
async function codeFor(client: Registered): Promise<string> {
  const { location } = await authorize(client);
  const user = await signIn(newName("ada"));
  const answer = await consent(location!.searchParams.get("authorization_id")!, user.key);
  return new URL(answer.headers.get("location")!).searchParams.get("code")!;
}

async function exchange(
  form: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: Record<string, string> }> {
  const answer = await fetch(`${OAUTH}/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      redirect_uri: REDIRECT_URI,
      code_verifier: VERIFIER,
      ...form,
    }),
    headers,
  });
  return { status: answer.status, body: await answer.json() };
}

Deno.test("a client with redirect_uris that lead nowhere safe, or none → 400", async () => {
  for (
    const redirect_uris of [
      undefined,
      [],
      ["/callback"],
      ["http://connector.example/"],
      ["javascript:alert(1)"],
      [`${REDIRECT_URI}#fragment`],
      Array(11).fill(REDIRECT_URI),
    ]
  ) {
    assert.equal((await register({ redirect_uris })).status, 400, String(redirect_uris));
  }
  for (const uri of ["http://localhost:8080/", "http://127.0.0.1/", "cursor://callback/x"]) {
    assert.equal((await register({ redirect_uris: [uri] })).status, 201, uri);
  }
});

Deno.test("/authorize of an unknown client or to another address → 400; without PKCE → back to the client with the error", async () => {
  const client = await registerClient();
  const unknown = { client_id: crypto.randomUUID() };
  assert.deepEqual(await authorize(unknown), { status: 400, location: null });
  const elsewhere = { redirect_uri: "https://evil.example/" };
  assert.deepEqual(await authorize(client, elsewhere), { status: 400, location: null });
  for (
    const bad of [
      { code_challenge: "" },
      { code_challenge: "short" },
      { code_challenge_method: "S512" },
      { response_type: "token" },
    ]
  ) {
    const { status, location } = await authorize(client, bad);
    assert.equal(status, 302);
    assert.equal(`${location!.origin}${location!.pathname}`, REDIRECT_URI);
    assert.equal(location!.searchParams.get("error"), "invalid_request");
    assert.equal(location!.searchParams.get("state"), "s");
  }
});

Deno.test("consent without a user's token, or for a request that ended → refused, and the request still waits", async () => {
  const { location } = await authorize(await registerClient());
  const id = location!.searchParams.get("authorization_id")!;
  for (const token of ["", "a.b.c", `ak_${"0".repeat(64)}`]) {
    assert.equal((await consent(id, token)).status, 403);
  }
  const { key } = await signIn(newName("ada"));
  assert.equal((await consent(id, key)).status, 303);
  assert.equal((await consent(id, key)).status, 404);
});

Deno.test("a code with another verifier, for another client, without the client's secret → refused, and the code still works once", async () => {
  const client = await registerClient("client_secret_basic");
  const other = await registerClient();
  const code = await codeFor(client);
  const basic = (secret: string) => ({
    authorization: `Basic ${btoa(`${client.client_id}:${secret}`)}`,
  });
  const own = basic(client.client_secret!);
  const refused: [form: Record<string, string>, headers: Record<string, string>, status: number][] =
    [
      [{ code }, {}, 401],
      [{ code, client_id: client.client_id }, {}, 401],
      [{ code }, basic("wrong"), 401],
      [{ code, client_id: other.client_id }, {}, 400],
      [{ code, code_verifier: "w".repeat(64) }, own, 400],
      [{ code, redirect_uri: "https://evil.example/" }, own, 400],
      [{ code: "unknown" }, own, 400],
    ];
  for (const [form, headers, status] of refused) {
    assert.equal((await exchange(form, headers)).status, status, JSON.stringify(form));
  }
  const { status, body } = await exchange({ code }, own);
  assert.equal(status, 200);
  assert.equal((await exchange({ code }, own)).status, 400);

  const refresh = (headers: Record<string, string>, others = {}) =>
    exchange(
      { grant_type: "refresh_token", refresh_token: body["refresh_token"]!, ...others },
      headers,
    );
  assert.equal((await refresh({}, { client_id: other.client_id })).status, 400);
  assert.equal((await refresh(own)).status, 200);
  assert.equal((await refresh(own)).status, 400);
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
