/** Tokens and keys whose spelling, nesting or names are misleading. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createSign, generateKeyPairSync } from "node:crypto";
import { IssuerKeys } from "../../../supabase/functions/_shared/identity/issuers/issuer_keys.ts";
import type {
  PublicKey,
  Trust,
} from "../../../supabase/functions/_shared/identity/issuers/trust.ts";
import { verifyToken } from "../../../supabase/functions/_shared/identity/issuers/verify.ts";
import { Issuer, newKey, part, signed } from "../../conformance/enrolment/issuer.ts";

const AUDIENCE = "https://agents.example.com";
const ISSUER = "https://issuer.example.com";

function trustIn(keys: readonly PublicKey[], fields: Partial<Trust> = {}): Trust {
  return {
    enrolment_id: "enr_1",
    issuer: ISSUER,
    audience: AUDIENCE,
    jwks: { keys },
    conditions: [],
    agent_id: "a",
    agent_template: null,
    max_token_age_seconds: null,
    ...fields,
  };
}

async function verify(token: string, trust: Trust) {
  const verification = await verifyToken(token, {
    trustsOf: () => Promise.resolve([trust]),
    keys: new IssuerKeys({ allowLoopback: false }),
    now: Date.now() / 1000,
  });
  if ("refusal" in verification) {
    const { detail: _, ...refusal } = verification.refusal;
    return refusal;
  }
  const [refusal] = verification.refused;
  return refusal ?? { tokenId: verification.verified.tokenId };
}

/** The same ES256 signature in its other form: of (r, s), s becomes n − s. */
function twinOf(token: string): string {
  const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
  const [header, claims, signature] = token.split(".");
  const bytes = Buffer.from(signature!, "base64url");
  const s = order - BigInt(`0x${bytes.subarray(32).toString("hex")}`);
  const twin = Buffer.concat([
    bytes.subarray(0, 32),
    Buffer.from(s.toString(16).padStart(64, "0"), "hex"),
  ]);
  return `${header}.${claims}.${twin.toString("base64url")}`;
}

Deno.test("a token without jti whose signature is given another form → the same token, which enrols once", async () => {
  const issuer = await Issuer.create(ISSUER);
  const trust = trustIn(issuer.jwks.keys);
  const token = await issuer.sign({ aud: AUDIENCE, jti: undefined }, { alg: "ES256" });
  const twin = twinOf(token);
  assert.notEqual(twin, token);
  assert.deepEqual(await verify(twin, trust), await verify(token, trust));
  const other = await issuer.sign({ aud: AUDIENCE, jti: undefined, n: 1 }, { alg: "ES256" });
  assert.notDeepEqual(await verify(other, trust), await verify(token, trust));
});

Deno.test("a part in another spelling of the same bytes → malformed", async () => {
  const issuer = await Issuer.create(ISSUER);
  const trust = trustIn(issuer.jwks.keys);
  // Signatures of 256 and 64 bytes: the last base64url character has four unused bits.
  for (const alg of ["RS256", "ES256"] as const) {
    const token = await issuer.sign({ aud: AUDIENCE }, { alg });
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const last = alphabet.indexOf(token.at(-1)!);
    for (const other of [alphabet[last + 1]!, alphabet[last + 2]!]) {
      assert.deepEqual(await verify(token.slice(0, -1) + other, trust), { reason: "malformed" });
    }
    assert.ok("tokenId" in await verify(token, trust));
  }
});

Deno.test("a key that is for something else, or weak → key_type", async () => {
  const [rsa, ec, ed] = await Promise.all([newKey("RS256"), newKey("ES256"), newKey("EdDSA")]);
  const claims = (await Issuer.create(ISSUER)).claims({ aud: AUDIENCE });
  const small = generateKeyPairSync("rsa", { modulusLength: 1024 });
  const modulus = small.publicKey.export({ format: "jwk" });
  const padded = Buffer.concat([Buffer.alloc(128), Buffer.from(modulus.n!, "base64url")]);
  const signing = `${part({ alg: "RS256", kid: "small" })}.${part(claims)}`;
  const bySmall = `${signing}.${
    createSign("sha256").update(signing).sign(small.privateKey, "base64url")
  }`;
  const byRsa = await signed(rsa, claims, { alg: "RS256" });
  const byEc = await signed(ec, claims, { alg: "ES256" });
  const byEd = await signed(ed, claims, { alg: "EdDSA" });
  const smallKey = { ...modulus, kid: "small" };
  for (
    const [name, token, key] of [
      ["for encryption", byRsa, { ...rsa.jwk, use: "enc" }],
      ["for signing alone", byRsa, { ...rsa.jwk, key_ops: ["sign"] }],
      ["key_ops that is a text", byRsa, { ...rsa.jwk, key_ops: "verify" }],
      ["of another algorithm", byRsa, { ...rsa.jwk, alg: "RS512" }],
      ["of another kind", byRsa, { ...ec.jwk, kid: rsa.jwk.kid }],
      ["of another curve", byEc, { ...ec.jwk, crv: "P-384" }],
      ["X25519", byEd, { ...ed.jwk, crv: "X25519" }],
      ["a shared secret", byRsa, { kty: "oct", k: rsa.jwk.n!, kid: rsa.jwk.kid }],
      ["without a modulus", byRsa, { kty: "RSA", e: "AQAB", kid: rsa.jwk.kid }],
      ["1024 bits", bySmall, smallKey],
      ["1024 bits that look like more", bySmall, { ...smallKey, n: padded.toString("base64url") }],
    ] as const
  ) {
    assert.deepEqual(await verify(token, trustIn([key])), { reason: "key_type" }, name);
  }
  for (const [token, key] of [[byRsa, rsa.jwk], [byEc, ec.jwk], [byEd, ed.jwk]] as const) {
    const right = { ...key, use: "sig", key_ops: ["verify"], x5c: ["expired"] };
    assert.ok("tokenId" in await verify(token, trustIn([right])));
  }
});

/** The text of an object that nests as many lists as a token has room for. */
function nested(member: string, more: object): string {
  const depth = 5_500;
  return `${JSON.stringify(more).slice(0, -1)},"${member}":${"[".repeat(depth)}${
    "]".repeat(depth)
  }}`;
}

Deno.test("claims or a header of thousands of nested lists → read like any others", async () => {
  const issuer = await Issuer.create(ISSUER);
  const trust = trustIn(issuer.jwks.keys, {
    conditions: [{ claim: "/deep/0/0", equals: "a" }],
  });
  const { kid } = issuer.keys.RS256.jwk;
  const claims = issuer.claims({ aud: AUDIENCE });
  const header = part({ alg: "RS256", kid });
  const deepClaims = `${header}.${part(nested("deep", claims))}.AAAA`;
  assert.deepEqual(await verify(deepClaims, trust), { reason: "signature" });
  const deepHeader = `${part(nested("deep", { alg: "RS256", kid }))}.${part(claims)}.AAAA`;
  assert.deepEqual(await verify(deepHeader, trust), { reason: "signature" });
  const lists = await issuer.sign({ aud: AUDIENCE, deep: [["a"]] });
  assert.deepEqual(await verify(lists, trust), {
    enrolment_id: "enr_1",
    reason: "claim_missing",
    claim: "/deep/0/0",
  });
});

Deno.test("claims with the names of members of every object's prototype → no claims", async () => {
  const issuer = await Issuer.create(ISSUER);
  const text = JSON.stringify(issuer.claims({ aud: AUDIENCE }));
  const key = issuer.keys.RS256;
  const withOwner = async (owner: string) => {
    const claims = JSON.parse(`${text.slice(0, -1)},${owner}}`);
    return await signed(key, claims, { alg: "RS256" });
  };
  for (
    const [claim, owner] of [
      ["owner", '"__proto__":{"owner":"us"}'],
      ["owner", '"constructor":{"prototype":{"owner":"us"}}'],
      ["toString", '"a":1'],
      ["/a/length", '"a":"us"'],
      ["/a/0", '"a":["us"]'],
    ] as const
  ) {
    const trust = trustIn(issuer.jwks.keys, { conditions: [{ claim, equals: "us" }] });
    assert.deepEqual(await verify(await withOwner(owner), trust), {
      enrolment_id: "enr_1",
      reason: "claim_missing",
      claim,
    });
  }
  assert.equal(({} as Record<string, unknown>)["owner"], undefined);
});

Deno.test("a member that stands twice → the last one counts, for the signature's key as for the claims", async () => {
  const issuer = await Issuer.create(ISSUER);
  const trust = trustIn(issuer.jwks.keys, { conditions: [{ claim: "owner", equals: "us" }] });
  const { kid } = issuer.keys.RS256.jwk;
  const twice = `${part(`{"alg":"RS256","kid":"${kid}","alg":"none"}`)}.${
    part(issuer.claims({ aud: AUDIENCE }))
  }.AAAA`;
  assert.deepEqual(await verify(twice, trust), { reason: "algorithm" });
});
