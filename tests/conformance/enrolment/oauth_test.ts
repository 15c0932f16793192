/** /token: enrolment by the standard requests of OAuth tools, on both functions. */
import assert from "node:assert/strict";
import { functionUrl, type JsonObject } from "../client.ts";
import { endMadeEnrolments, eventsOf, newName, put, whoami } from "./enrolments.ts";
import { Issuer } from "./issuer.ts";

Deno.test.afterEach(endMadeEnrolments);

const AUDIENCE = "https://agents.example.com";
const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT = "urn:ietf:params:oauth:token-type:jwt";
const FUNCTIONS = ["agent-artifacts", "agent-mesh"];

async function trusted(fields: JsonObject = {}) {
  const issuer = await Issuer.create(`https://${newName("issuer")}.example.com`);
  const { enrolment_id } = await put({
    kind: "trust",
    issuer: issuer.url,
    audience: AUDIENCE,
    jwks: issuer.jwks as never,
    conditions: [{ claim: "sub", prefix: "new-run-" }],
    agent_template: "{sub}",
    session_seconds: 600,
    ...fields,
  });
  const sub = newName("run");
  const token = (claims = {}) => issuer.sign({ aud: AUDIENCE, sub, ...claims });
  return { enrolment_id, sub, token };
}

async function ask(
  form: Record<string, string> | URLSearchParams | string,
  { by = "agent-artifacts", headers = {} }: { by?: string; headers?: Record<string, string> } = {},
) {
  const response = await fetch(functionUrl(`/${by}/token`), {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
    body: typeof form === "string" ? form : new URLSearchParams(form),
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

/** The headers that RFC 6749, 5.1 and 5.2, requires. */
function assertNeverCached(headers: Headers): void {
  assert.deepEqual([headers.get("cache-control"), headers.get("pragma")], ["no-store", "no-cache"]);
}

for (const by of FUNCTIONS) {
  Deno.test(`/${by}/token with a JWT as a grant, or in exchange → an agent key that works, as RFC 6749 answers`, async () => {
    const { sub, token } = await trusted();
    for (
      const [form, more] of [
        [{ grant_type: JWT_BEARER, assertion: await token() }, {}],
        [
          { grant_type: TOKEN_EXCHANGE, subject_token: await token(), subject_token_type: JWT },
          { issued_token_type: "urn:ietf:params:oauth:token-type:access_token" },
        ],
      ] as const
    ) {
      const { status, headers, body } = await ask(form, { by });
      assert.equal(status, 200, JSON.stringify(body));
      const { access_token, expires_in, ...rest } = body;
      assert.deepEqual(rest, { token_type: "Bearer", ...more });
      assert.ok(expires_in > 590 && expires_in <= 600, String(expires_in));
      assertNeverCached(headers);
      const { body: identity } = await whoami({ id: sub, key: access_token, keyId: "" });
      assert.equal(identity["agent_id"], sub);
    }
  });
}

Deno.test("/token with nothing right in it → 400 with the codes of RFC 6749, and nobody enrols", async () => {
  const { sub, token } = await trusted({ single_use_tokens: true });
  const assertion = await token();
  const good = { grant_type: JWT_BEARER, assertion };
  const exchange = {
    grant_type: TOKEN_EXCHANGE,
    subject_token: assertion,
    subject_token_type: JWT,
  };
  const wrong: readonly (readonly [Parameters<typeof ask>[0], string])[] = [
    [{}, "invalid_request"],
    ["", "invalid_request"],
    [{ assertion }, "invalid_request"],
    [{ grant_type: JWT_BEARER }, "invalid_request"],
    [{ grant_type: JWT_BEARER, assertion: "" }, "invalid_request"],
    [{ grant_type: "client_credentials", assertion }, "unsupported_grant_type"],
    [{ grant_type: "authorization_code", code: "1" }, "unsupported_grant_type"],
    [new URLSearchParams([...Object.entries(good), ["assertion", "b"]]), "invalid_request"],
    [
      { ...exchange, subject_token_type: "urn:ietf:params:oauth:token-type:saml2" },
      "invalid_request",
    ],
    [{ ...exchange, requested_token_type: JWT }, "invalid_request"],
    [{ ...exchange, actor_token: assertion, actor_token_type: JWT }, "invalid_request"],
    [{ ...good, assertion: "no token" }, "invalid_grant"],
    [{ ...good, assertion: await token({ sub: "other" }) }, "invalid_grant"],
    [
      { ...good, assertion: await token({ aud: "https://elsewhere.example.com" }) },
      "invalid_grant",
    ],
    [{ ...good, enrolment_id: "enr_1" }, "invalid_request"],
    [{ ...good, agent_name: "other" }, "invalid_request"],
    [{ ...good, assertion: "a".repeat(70_000) }, "invalid_request"],
  ];
  for (const [form, code] of wrong) {
    const { status, headers, body } = await ask(form);
    assert.deepEqual([status, body.error], [400, code], JSON.stringify([form, body]).slice(0, 300));
    assertNeverCached(headers);
    assert.deepEqual(Object.keys(body), ["error", "error_description"]);
    assert.match(body.error_description, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/);
    assert.ok(!body.error_description.includes(assertion));
  }
  const json = await ask(JSON.stringify(good), { headers: { "content-type": "application/json" } });
  assert.deepEqual([json.status, json.body.error], [400, "invalid_request"]);
  assert.deepEqual(await eventsOf("agent.enrolled", { agent_id: sub }), []);

  const { body: enrolled } = await ask({ ...good, unknown: "is ignored" });
  await whoami({ id: sub, key: enrolled.access_token, keyId: "" });
  const replayed = await ask(good);
  assert.deepEqual([replayed.status, replayed.body.error], [400, "invalid_grant"]);
});

Deno.test("another method of /token → 405, and what it allows", async () => {
  for (const by of FUNCTIONS) {
    const response = await fetch(functionUrl(`/${by}/token`));
    assert.equal(response.status, 405);
    assert.equal(response.headers.get("allow"), "POST, OPTIONS");
    await response.body?.cancel();
  }
});
