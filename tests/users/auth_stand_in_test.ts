import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { sign } from "hono/jwt";
import { stateFiles } from "../../packages/local/state/state_files.ts";
import { PUBLISHABLE_KEY, SECRET_KEY, SUPABASE_URL } from "../conformance/client.ts";
import { newName, signIn, SIGNING_KEY } from "./signed_in.ts";

const AUTH = `${SUPABASE_URL}/auth/v1`;

/** What supabase-js sends. */
const VERSION = { "x-supabase-api-version": "2024-01-01" };

async function get(path: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${AUTH}${path}`, { headers: { ...VERSION, ...headers } });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

Deno.test("GET /auth/v1/.well-known/jwks.json without a key → the public key alone, for ten minutes", async () => {
  const { status, headers, body } = await get("/.well-known/jwks.json");
  assert.equal(status, 200);
  assert.equal(headers.get("cache-control"), "public, max-age=600");
  const { d: _, ...publicKey } = SIGNING_KEY;
  assert.deepEqual(body, { keys: [{ ...publicKey, use: "sig", key_ops: ["verify"] }] });
});

Deno.test("the key that signs → this user's alone to read", async () => {
  const { mode } = await stat(stateFiles(Deno.env.get("STATE_DIR")!).authKey);
  assert.equal(mode & 0o777, 0o600);
});

Deno.test("GET /auth/v1/user with a user's token → the user", async () => {
  const user = await signIn(newName("ada"));
  const apikey = PUBLISHABLE_KEY!;
  const { status, body } = await get("/user", { apikey, authorization: `Bearer ${user.key}` });
  assert.equal(status, 200);
  assert.deepEqual(
    [body.id, body.aud, body.role, body.app_metadata.agent_id, body.is_anonymous],
    [user.sub, "authenticated", "authenticated", user.id, false],
  );
});

Deno.test("GET /auth/v1/user without an API key, or with a wrong one → the gateway's 401", async () => {
  const { key } = await signIn(newName("ada"));
  for (const headers of [{}, { apikey: "sb_publishable_wrong" }]) {
    const { status, body } = await get("/user", { ...headers, authorization: `Bearer ${key}` });
    assert.equal(status, 401);
    assert.equal(typeof body.message, "string");
  }
});

Deno.test("GET /auth/v1/user with another token → Auth's errors", async () => {
  const ended = await signIn(newName("ada"), { seconds: -1 });
  const answers: [token: string, status: number, code: string][] = [
    [ended.key, 403, "bad_jwt"],
    [`${ended.key}x`, 403, "bad_jwt"],
    ["a.b.c", 403, "bad_jwt"],
    ["junk", 403, "bad_jwt"],
  ];
  for (const [token, status, code] of answers) {
    const answer = await get("/user", { apikey: SECRET_KEY, authorization: `Bearer ${token}` });
    assert.deepEqual([answer.status, answer.body.code], [status, code]);
    assert.equal(answer.headers.get("x-supabase-api-version"), "2024-01-01");
  }
  // For a request with only a key, the gateway adds the role's own JWT, which has no user.
  const noUser = await get("/user", { apikey: SECRET_KEY });
  assert.deepEqual([noUser.status, noUser.body.code], [403, "bad_jwt"]);
});

Deno.test("the same refusal, without a version or with an earlier one → Auth's older form", async () => {
  for (const version of ["", "2023-12-31", "newest"]) {
    const headers = { apikey: SECRET_KEY, authorization: "Bearer junk" };
    const { status, headers: answered, body } = await get("/user", {
      ...headers,
      "x-supabase-api-version": version,
    });
    assert.deepEqual([status, body.code, body.error_code], [403, 403, "bad_jwt"]);
    assert.equal(typeof body.msg, "string");
    assert.equal(answered.get("x-supabase-api-version"), "0001-01-01");
    assert.equal(answered.get("x-sb-error-code"), "bad_jwt");
  }
});

Deno.test("POST /auth/v1/logout of this session → its token is session_not_found, another session's is not", async () => {
  const apikey = PUBLISHABLE_KEY!;
  const ada = newName("ada");
  const [user, other] = [await signIn(ada), await signIn(ada)];
  const as = (key: string) => ({ apikey, authorization: `Bearer ${key}` });
  const logout = (query: string) =>
    fetch(`${AUTH}/logout${query}`, { method: "POST", headers: { ...VERSION, ...as(user.key) } });
  const refused = await logout("?scope=some");
  assert.deepEqual([refused.status, (await refused.json()).code], [400, "validation_failed"]);
  assert.equal((await get("/user", as(user.key))).status, 200);

  assert.equal((await logout("?scope=local")).status, 204);
  const { status, body } = await get("/user", as(user.key));
  assert.deepEqual([status, body.code], [403, "session_not_found"]);
  assert.equal((await get("/user", as(other.key))).status, 200);
});

Deno.test("POST /auth/v1/logout of a user's other sessions → they end, this one stays; without a session → all end", async () => {
  const sub = crypto.randomUUID();
  const iat = Math.floor(Date.now() / 1000) - 60;
  /** A session that began a minute ago. */
  const begun = async (session?: object) => ({
    apikey: PUBLISHABLE_KEY!,
    authorization: `Bearer ${await sign(
      { sub, iat, exp: iat + 600, role: "authenticated", aud: "authenticated", ...session },
      { ...SIGNING_KEY },
      SIGNING_KEY.alg,
    )}`,
  });
  const one = () => begun({ session_id: crypto.randomUUID() });
  const [own, seen, unseen, without] = [await one(), await one(), await one(), await begun()];
  const stateOf = async (headers: Record<string, string>) => {
    const { status, body } = await get("/user", headers);
    return status === 200 ? "live" : body.code;
  };
  const logout = async (headers: Record<string, string>, scope: string) => {
    const answer = await fetch(`${AUTH}/logout?scope=${scope}`, { method: "POST", headers });
    assert.equal(answer.status, 204);
  };
  assert.equal(await stateOf(seen), "live");
  await logout(own, "others");
  assert.equal(await stateOf(own), "live");
  for (const other of [seen, unseen]) assert.equal(await stateOf(other), "session_not_found");
  await logout(without, "local");
  assert.equal(await stateOf(own), "session_not_found");
});

for (
  const path of ["/auth/v1/user", "/rest/v1/rpc/agent_api_check_health", "/storage/v1/object/x"]
) {
  Deno.test(`OPTIONS ${path} from a page of another origin → allowed with the headers that it asks for`, async () => {
    const response = await fetch(SUPABASE_URL + path, {
      method: "OPTIONS",
      headers: {
        origin: "https://app.example",
        "access-control-request-method": "PUT",
        "access-control-request-headers": "apikey,authorization,x-client-info",
      },
    });
    await response.body?.cancel();
    assert.equal(response.status, 200);
    const { headers } = response;
    assert.equal(headers.get("access-control-allow-origin"), "*");
    assert.equal(
      headers.get("access-control-allow-headers"),
      "apikey,authorization,x-client-info",
    );
    assert.match(headers.get("access-control-allow-methods") ?? "", /(?:^|,)PUT(?:,|$)/);
    const got = await fetch(SUPABASE_URL + path, { headers: { origin: "https://app.example" } });
    await got.body?.cancel();
    assert.equal(got.headers.get("access-control-allow-origin"), "*");
  });
}
