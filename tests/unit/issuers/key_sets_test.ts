/** Which key of a set verifies a token, and which pasted sets are accepted. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { Issuer, newKey, signed } from "../../conformance/enrolment/issuer.ts";
import { createOperation as createPut } from "../../../supabase/functions/_shared/identity/enrolment/put.ts";
import { checkTrust } from "../../../supabase/functions/_shared/identity/issuers/check_trust.ts";
import { IssuerKeys } from "../../../supabase/functions/_shared/identity/issuers/issuer_keys.ts";
import type {
  PublicKey,
  Refusal,
  Trust,
} from "../../../supabase/functions/_shared/identity/issuers/trust.ts";
import { verifyToken } from "../../../supabase/functions/_shared/identity/issuers/verify.ts";

const ISSUER = "https://issuer.example.com";
const AUDIENCE = "https://agents.example.com";

const [rsa, otherRsa, ec, ed] = await Promise.all([
  newKey("RS256", "one"),
  newKey("RS256", "one"),
  newKey("ES256", "one"),
  newKey("EdDSA", "one"),
]);
const KEYS = { RS256: rsa, ES256: ec, EdDSA: ed } as const;

/** Keys of sets that other software uses for something else. */
const UNUSED: readonly PublicKey[] = [
  { ...otherRsa.jwk, alg: "RSA-OAEP", use: "enc", kid: "encryption" },
  { ...otherRsa.jwk, alg: "RS512", kid: "other" },
  {
    ...generateKeyPairSync("ec", { namedCurve: "P-521" }).publicKey.export({ format: "jwk" }),
    kid: "p521",
  } as PublicKey,
  { ...ec.jwk, use: "x509-svid", kid: undefined },
];

async function verify(
  token: string,
  keys: readonly PublicKey[],
  issuer = ISSUER,
): Promise<string> {
  const trust: Trust = {
    enrolment_id: "enr_1",
    issuer,
    audience: AUDIENCE,
    jwks: { keys },
    conditions: [],
    agent_id: "a",
    agent_template: null,
    max_token_age_seconds: null,
  };
  const verification = await verifyToken(token, {
    trustsOf: (named) => Promise.resolve(named === issuer ? [trust] : []),
    keys: new IssuerKeys({ allowLoopback: false }),
    now: Date.now() / 1000,
  });
  return "refusal" in verification ? verification.refusal.reason : "accepted";
}

const claims = (await Issuer.create(ISSUER)).claims({ aud: AUDIENCE, sub: "a" });

function sign(alg: keyof typeof KEYS, header: Record<string, unknown> = {}, more: object = {}) {
  return signed(KEYS[alg], { ...claims, ...more }, { alg, header });
}

for (const alg of ["RS256", "ES256", "EdDSA"] as const) {
  Deno.test(`an ${alg} token, and keys of three kinds under its kid → the one of its kind`, async () => {
    const keys = [rsa.jwk, ec.jwk, ed.jwk];
    assert.equal(await verify(await sign(alg), keys), "accepted");
    assert.equal(await verify(await sign(alg), [...UNUSED, ...keys]), "accepted");
  });

  Deno.test(`an ${alg} token without a kid → the only key that can have signed it`, async () => {
    const token = await sign(alg, { kid: undefined });
    const own = KEYS[alg].jwk;
    assert.equal(await verify(token, [...UNUSED, own]), "accepted");
    const twin = { ...(await newKey(alg)).jwk };
    assert.equal(await verify(token, [own, twin]), "several_keys");
    assert.equal(await verify(token, UNUSED), "key_type");
  });
}

Deno.test("one RSA key for RS256, RS384 and RS512 under one kid → its RS256", async () => {
  const keys = ["RS512", "RS256", "RS384"].map((alg) => ({ ...rsa.jwk, alg }));
  assert.equal(await verify(await sign("RS256"), keys), "accepted");
});

Deno.test("two keys of one kind under the token's kid → several_keys, in either order", async () => {
  const token = await sign("RS256");
  assert.equal(await verify(token, [rsa.jwk, otherRsa.jwk]), "several_keys");
  assert.equal(await verify(token, [otherRsa.jwk, rsa.jwk]), "several_keys");
  const encrypting = { ...otherRsa.jwk, use: "enc" };
  assert.equal(await verify(token, [encrypting, rsa.jwk]), "accepted");
});

Deno.test("a kid that no key has, and one whose key is for something else → unknown_key, key_type", async () => {
  const token = await sign("RS256", { kid: "another" });
  assert.equal(await verify(token, [rsa.jwk, ec.jwk]), "unknown_key");
  assert.equal(await verify(token, [{ ...rsa.jwk, kid: "another", use: "enc" }]), "key_type");
  // The kid names a key. That another key could have signed it changes nothing.
  assert.equal(
    await verify(await sign("RS256", { kid: "p521" }), [...UNUSED, rsa.jwk]),
    "key_type",
  );
});

const SVID = { iss: undefined, sub: "spiffe://example.org/ns/builders/sa/builder" };

Deno.test("a JWT-SVID without iss → its trust domain is the issuer; keys with use jwt-svid verify it", async () => {
  const domain = "spiffe://example.org";
  const bundle = [{ ...ec.jwk, use: "jwt-svid" }, { ...otherRsa.jwk, use: "x509-svid" }];
  const token = await sign("ES256", {}, SVID);
  assert.equal(await verify(token, bundle, domain), "accepted");
  assert.equal(await verify(token, bundle, "spiffe://example.com"), "unknown_issuer");
  assert.equal(await verify(token, bundle, ISSUER), "unknown_issuer");
  const ordinary = await sign("ES256", {}, { iss: domain, sub: "builder" });
  assert.equal(await verify(ordinary, bundle, domain), "key_type");
});

Deno.test("no iss, and a sub that is no workload of a trust domain → claim_missing", async () => {
  const subjects = [
    "spiffe://example.org",
    "spiffe://example.org/",
    "spiffe:///ns",
    "spiffe://EXAMPLE.org/a",
    "spiffe://a@example.org/a",
    "spiffe://example.org:1/a",
    "https://example.org/a",
    "a",
    7,
    "spiffe://example.org/a//b",
    "spiffe://example.org/../a",
    "spiffe://example.org/a?b",
    undefined,
  ];
  for (const sub of subjects) {
    const token = await sign("ES256", {}, { iss: undefined, sub });
    assert.equal(await verify(token, [ec.jwk], "spiffe://example.org"), "claim_missing", `${sub}`);
  }
  for (const iss of ["", null, 7]) {
    const token = await sign("ES256", {}, { ...SVID, iss });
    assert.notEqual(await verify(token, [ec.jwk], "spiffe://example.org"), "accepted", `${iss}`);
  }
});

/** What checkTrust says of a set of keys; null: nothing. */
function complaintOf(keys: readonly PublicKey[]): string | null {
  const [issue, ...more] = checkTrust({
    issuer: ISSUER,
    audience: AUDIENCE,
    jwks: { keys },
    conditions: [{ claim: "sub", equals: "a" }],
    agent_id: "a",
    agent_template: null,
  }, { allowLoopback: false });
  assert.deepEqual(more, []);
  return issue === undefined ? null : issue.message;
}

Deno.test("a pasted set with keys that nothing here uses → accepted, as a fetched one", () => {
  assert.equal(complaintOf([...UNUSED, rsa.jwk]), null);
  assert.equal(complaintOf([...UNUSED, rsa.jwk, ec.jwk, ed.jwk]), null);
  assert.equal(complaintOf([{ ...ec.jwk, use: "jwt-svid" }, UNUSED[3]!]), null);
  assert.equal(complaintOf(["RS512", "RS256"].map((alg) => ({ ...rsa.jwk, alg }))), null);
});

Deno.test("a pasted set of as many keys as a fetched one may have, 100 → accepted; of 101 → refused", () => {
  const { request } = createPut({ settings: {} } as Parameters<typeof createPut>[0]);
  const issuesOf = (count: number) => {
    const keys = Array.from({ length: count }, (_, n) => ({ ...rsa.jwk, kid: `key-${n}` }));
    assert.equal(complaintOf(keys), null);
    const enrolment = {
      kind: "trust",
      issuer: ISSUER,
      audience: AUDIENCE,
      jwks: { keys },
      agent_id: "a",
      conditions: [{ claim: "sub", equals: "a" }],
    };
    // The body of a request has at most 64 KiB.
    assert.ok(JSON.stringify(enrolment).length < 64 * 1024);
    return request.safeParse(enrolment).error?.issues.map(({ path }) => path.join(".")) ?? [];
  };
  assert.deepEqual(issuesOf(21), []);
  assert.deepEqual(issuesOf(100), []);
  assert.deepEqual(issuesOf(101), ["jwks.keys"]);
});

Deno.test("a pasted set without a key to use, with a private key, a weak one, or two that cannot be told apart → refused", () => {
  assert.match(complaintOf(UNUSED) ?? "", /at least one public key/);
  assert.match(complaintOf([rsa.jwk, { kty: "oct", k: "c2VjcmV0" }]) ?? "", /private or shared/);
  assert.match(
    complaintOf([ec.jwk, { ...rsa.jwk, d: "x", use: "enc" }]) ?? "",
    /private or shared/,
  );
  const weak = generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey;
  assert.match(complaintOf([{ ...weak.export({ format: "jwk" }) } as PublicKey]) ?? "", /2048/);
  assert.match(complaintOf([rsa.jwk, otherRsa.jwk]) ?? "", /kid of its own/);
  const { kid: _, ...unnamed } = otherRsa.jwk;
  assert.match(complaintOf([rsa.jwk, unnamed]) ?? "", /kid of its own/);
});

Deno.test("a claim's name with a slash → refused with the path that names it", () => {
  const issuesOf = (claim: string, agent_template: string) =>
    checkTrust({
      issuer: ISSUER,
      audience: AUDIENCE,
      jwks: { keys: [rsa.jwk] },
      conditions: [{ claim, equals: "a" }],
      agent_id: null,
      agent_template,
    }, { allowLoopback: false }).map(({ message }) => message);
  const [ofCondition, ofTemplate] = issuesOf("https://example.com/ro~le", "{https://a.b/c}");
  assert.match(ofCondition ?? "", / \/https:~1~1example\.com~1ro~0le\b/);
  assert.match(ofTemplate ?? "", /\{\/https:~1~1a\.b~1c\}/);
  assert.deepEqual(issuesOf("/https:~1~1example.com~1ro~0le", "{/https:~1~1a.b~1c}"), []);
});

Deno.test("a key that is not found → the operator is told which keys the issuer has, as a text that can be stored", async () => {
  const many = Array.from({ length: 20 }, (_, n) => ({ ...rsa.jwk, kid: `key-${n}` }));
  const hostile = [{ ...rsa.jwk, kid: `\0\u202e\ud83d${"x".repeat(9_000)}` }, { kty: {}, kid: 7 }];
  for (const keys of [many, hostile, [], [rsa.jwk, ec.jwk]] as unknown as PublicKey[][]) {
    const trust: Trust = {
      enrolment_id: "enr_1",
      issuer: ISSUER,
      audience: AUDIENCE,
      jwks: { keys },
      conditions: [],
      agent_id: "a",
      agent_template: null,
      max_token_age_seconds: null,
    };
    const verification = await verifyToken(await sign("RS256", { kid: "another" }), {
      trustsOf: () => Promise.resolve([trust]),
      keys: new IssuerKeys({ allowLoopback: false }),
      now: Date.now() / 1000,
    });
    const { reason, detail = "" } = (verification as { refusal: Refusal }).refusal;
    assert.equal(reason, "unknown_key");
    assert.match(detail, /^The issuer's keys: [^\p{C}]{1,490}$/u);
  }
});
