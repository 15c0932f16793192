/** Tokens that every enrolment must refuse, each with the reason. */
import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { exportSPKI } from "jose";
import { type Issuer, newKey, part, signed, type TokenClaims } from "./issuer.ts";
import { listOf, type Maker, type WrongToken } from "./token_makers.ts";

/** The claims of a valid token. Each wrong token differs from it in one thing. */
export interface RightClaims extends TokenClaims {
  readonly aud: string;
  readonly owner_id: string;
  readonly ref: string;
}

export async function makeWrongTokens(issuer: Issuer, right: RightClaims): Promise<WrongToken[]> {
  const { wrong, add, withClaims } = listOf(issuer, right);
  const { RS256, ES256, EdDSA } = issuer.keys;
  const stranger = { RS256: await newKey("RS256"), ES256: await newKey("ES256") };

  // Form and size.
  add("no token", () => "x", "malformed");
  add("two parts", ({ header, claims }) => `${header}.${claims}`, "malformed");
  add("four parts", ({ token, signature }) => `${token}.${signature}`, "malformed");
  add(
    "five parts, as encrypted ones have",
    ({ token, claims }) => `${token}.${claims}.${claims}`,
    "malformed",
  );
  add("a space before it", ({ token }) => ` ${token}`, "malformed");
  add("a line end behind it", ({ token }) => `${token}\n`, "malformed");
  add(
    "padding",
    ({ header, claims, signature }) => `${header}.${claims}=.${signature}`,
    "malformed",
  );
  add(
    "base64 instead of base64url",
    ({ header, claims, signature }) => `${header}.${claims}+/.${signature}`,
    "malformed",
  );
  add("without claims", ({ header, signature }) => `${header}..${signature}`, "malformed");
  add(
    "a header that is no JSON",
    ({ claims, signature }) => `${part("{")}.${claims}.${signature}`,
    "malformed",
  );
  add(
    "a header that is a list",
    ({ claims, signature }) => `${part([])}.${claims}.${signature}`,
    "malformed",
  );
  add(
    "claims that are a text",
    ({ header, signature }) => `${header}.${part('"x"')}.${signature}`,
    "malformed",
  );
  add(
    "claims that are null",
    ({ header, signature }) => `${header}.${part("null")}.${signature}`,
    "malformed",
  );
  add(
    "claims that are no UTF-8",
    ({ header, signature }) =>
      `${header}.${Buffer.from([0x7b, 0xff, 0x7d]).toString("base64url")}.${signature}`,
    "malformed",
  );
  add("a signature in another spelling", ({ token }) => {
    const last = token.charCodeAt(token.length - 1);
    return token.slice(0, -1) + String.fromCharCode(last + 1);
  }, "malformed");
  const sign = (alg: "RS256" | "ES256" | "EdDSA", header: TokenClaims) => () =>
    signed(issuer.keys[alg], issuer.claims(right), { alg, header });
  const withHeader = (changes: TokenClaims): Maker => ({ claims, signature }) => {
    const changed = part({ alg: "RS256", kid: RS256.jwk.kid, ...changes });
    return `${changed}.${claims}.${signature}`;
  };
  add("b64 false, which is critical", withHeader({ crit: ["b64"], b64: false }), "malformed");
  add("a critical extension", withHeader({ crit: ["exp"], exp: 1 }), "malformed");
  add("a token within a token", sign("RS256", { cty: "JWT" }), "malformed");

  // The issuer.
  withClaims("no issuer", { iss: undefined }, "claim_missing", "iss");
  withClaims("an issuer that is a list", { iss: [issuer.url] }, "claim_missing", "iss");
  withClaims("a slash behind the issuer", { iss: `${issuer.url}/` }, "unknown_issuer");
  withClaims("the issuer in capitals", { iss: issuer.url.toUpperCase() }, "unknown_issuer");
  withClaims("another issuer", { iss: "https://issuer.example.org" }, "unknown_issuer");
  // The database cannot store these characters, so the function must refuse without a query.
  for (const [name, character] of [["U+0000", "\0"], ["half a character", "\ud83d"]]) {
    withClaims(
      `${name} behind the issuer`,
      { iss: issuer.url + character },
      "unknown_issuer",
    );
  }
  withClaims("an issuer by http", { iss: issuer.url.replace("s:", ":") }, "unknown_issuer");
  withClaims(
    "an issuer with a user",
    { iss: issuer.url.replace("//", "//user@") },
    "unknown_issuer",
  );
  withClaims("a path of the issuer", { iss: `${issuer.url}/.` }, "unknown_issuer");
  withClaims("an issuer with a port", { iss: `${issuer.url}:443` }, "unknown_issuer");

  // The algorithm and the key.
  add("alg none", ({ claims }) => `${part({ alg: "none" })}.${claims}.`, "algorithm");
  add(
    "alg NONE",
    ({ claims }) => `${part({ alg: "NONE", kid: RS256.jwk.kid })}.${claims}.`,
    "algorithm",
  );
  add(
    "no alg",
    ({ claims, signature }) => `${part({ kid: RS256.jwk.kid })}.${claims}.${signature}`,
    "algorithm",
  );
  add("alg that is a list", withHeader({ alg: ["RS256"] }), "algorithm");
  add("alg rs256", withHeader({ alg: "rs256" }), "algorithm");
  for (const alg of ["RS384", "PS256", "ES384"]) {
    add(`alg ${alg}`, withHeader({ alg }), "algorithm");
  }
  const secrets = { PEM: await exportSPKI(RS256.publicKey), modulus: RS256.jwk.n! };
  for (const [form, secret] of Object.entries(secrets)) {
    add(`HS256 with the public key's ${form}`, ({ claims }) => {
      const signing = `${part({ alg: "HS256", kid: RS256.jwk.kid })}.${claims}`;
      const mac = createHmac("sha256", secret).update(signing).digest("base64url");
      return `${signing}.${mac}`;
    }, "algorithm");
  }
  add("an unknown kid", sign("RS256", { kid: "other" }), "unknown_key");
  add("a kid that is a number", withHeader({ kid: 1 }), "unknown_key");
  add("a kid that no row can hold", sign("RS256", { kid: "a\0\ud83d" }), "unknown_key");
  add("a kid that is a path", sign("RS256", { kid: "../../dev/null" }), "unknown_key");
  add("RS256 named with the key of ES256", withHeader({ kid: ES256.jwk.kid }), "key_type");
  add("RS256 named with the key of EdDSA", withHeader({ kid: EdDSA.jwk.kid }), "key_type");
  add("ES256 named with the key of RS256", withHeader({ alg: "ES256" }), "key_type");
  add(
    "EdDSA named with the key of ES256",
    withHeader({ alg: "EdDSA", kid: ES256.jwk.kid }),
    "key_type",
  );

  // The signature.
  const jwk = stranger.RS256.jwk;
  const byStranger = (header: TokenClaims) => () =>
    signed(stranger.RS256, issuer.claims(right), { alg: "RS256", header });
  add("a stranger's signature", byStranger({ kid: RS256.jwk.kid }), "signature");
  add("a stranger's key within", byStranger({ kid: RS256.jwk.kid, jwk }), "signature");
  add(
    "the address of a stranger's key",
    byStranger({ kid: RS256.jwk.kid, jku: "https://issuer.example.org/keys" }),
    "signature",
  );
  add(
    "a stranger's certificate",
    byStranger({ kid: RS256.jwk.kid, x5c: ["MIIB"], x5u: "https://issuer.example.org/c" }),
    "signature",
  );
  add("a stranger's kid", byStranger({}), "unknown_key");
  // Only one key of the set is for RS256.
  add("a stranger's signature, and no kid", byStranger({ kid: undefined }), "signature");
  add("no signature", ({ header, claims }) => `${header}.${claims}.`, "signature");
  add("half a signature", ({ token }) => token.slice(0, -102), "signature");
  // A signature has 342 characters. No bytes have a base64url text of 341 characters.
  add("a signature of an impossible length", ({ token }) => token.slice(0, -1), "malformed");
  add("other claims than those signed", ({ header, signature }) => {
    const others = part(issuer.claims({ ...right, ref: "refs/heads/other" }));
    return `${header}.${others}.${signature}`;
  }, "signature");
  add(
    "ES256 of zeros",
    ({ claims }) =>
      `${part({ alg: "ES256", kid: ES256.jwk.kid })}.${claims}.${
        Buffer.alloc(64).toString("base64url")
      }`,
    "signature",
  );
  add(
    "a stranger's ES256",
    () =>
      signed(stranger.ES256, issuer.claims(right), {
        alg: "ES256",
        header: { kid: ES256.jwk.kid },
      }),
    "signature",
  );

  const { r, s } = { r: Buffer.alloc(32, 1), s: Buffer.alloc(32, 1) };
  const der = Buffer.concat([Buffer.from([0x30, 68, 2, 32]), r, Buffer.from([2, 32]), s]);
  add(
    "ES256 in the form of certificates",
    ({ claims }) =>
      `${part({ alg: "ES256", kid: ES256.jwk.kid })}.${claims}.${der.toString("base64url")}`,
    "signature",
  );

  // The audience.
  withClaims("no audience", { aud: undefined }, "claim_missing", "aud");
  withClaims("two audiences", { aud: [right.aud, "https://example.org"] }, "audience");
  withClaims("the audience twice", { aud: [right.aud, right.aud] }, "audience");
  withClaims("no audience in the list", { aud: [] }, "audience");
  withClaims("another audience", { aud: "https://example.org" }, "audience");
  withClaims(
    "an audience that begins alike",
    { aud: `${right.aud}.example.org` },
    "audience",
  );
  withClaims("the audience in a list within", { aud: [[right.aud]] }, "audience");
  withClaims("an audience that no row can hold", { aud: `${right.aud}\0` }, "audience");
  withClaims("an audience that is a number", { aud: 1 }, "audience");

  // The times.
  withClaims("no end", { exp: undefined }, "claim_missing", "exp");
  withClaims("expired by 31 s", (now) => ({ exp: now - 32 }), "expired");
  withClaims("expired long ago", { exp: 0 }, "expired");
  withClaims(
    "an end that is a text",
    (now) => ({ exp: String(now + 300) }),
    "claim_differs",
    "exp",
  );
  withClaims("an end before 1970", { exp: -1 }, "claim_differs", "exp");
  withClaims("a beginning that is a text", { nbf: "0" }, "claim_differs", "nbf");
  withClaims("a time of issue that is null", { iat: null }, "claim_differs", "iat");
  withClaims("an end that never comes", { exp: 1e300 }, "claim_differs", "exp");
  withClaims("not before a minute", (now) => ({ nbf: now + 60 }), "not_yet_valid");
  withClaims("issued in the future", (now) => ({ iat: now + 60 }), "issued_in_future");
  withClaims("no time of issue", { iat: undefined }, "claim_missing", "iat");
  withClaims("issued too long ago", (now) => ({ iat: now - 632 }), "too_old");

  // The conditions.
  withClaims("no tenant", { owner_id: undefined }, "claim_missing", "owner_id");
  withClaims("another tenant", { owner_id: "9920" }, "claim_differs", "owner_id");
  withClaims("the tenant as a number", { owner_id: 9919 }, "claim_differs", "owner_id");
  withClaims("the tenant in a list", { owner_id: ["9919"] }, "claim_differs", "owner_id");
  withClaims("the tenant with a space", { owner_id: "9919 " }, "claim_differs", "owner_id");
  withClaims(
    "the tenant in the prototype",
    { owner_id: undefined, ["__proto__"]: { owner_id: right.owner_id } },
    "claim_missing",
    "owner_id",
  );
  withClaims("the tenant with U+0000", { owner_id: "9919\0" }, "claim_differs", "owner_id");
  withClaims("half a character", { owner_id: "\ud83d" }, "claim_differs", "owner_id");
  withClaims(
    "the tenant in other letters",
    { owner_id: undefined, OWNER_ID: right.owner_id },
    "claim_missing",
    "owner_id",
  );
  withClaims("another branch", { ref: "refs/heads/fork" }, "claim_differs", "ref");
  withClaims(
    "a ref that only contains it",
    { ref: "x/refs/heads/release/1" },
    "claim_differs",
    "ref",
  );
  withClaims("no name within", { place: {} }, "claim_missing", "/place/name.space");
  withClaims(
    "a flat name",
    { place: undefined, "/place/name.space": "eu" },
    "claim_missing",
    "/place/name.space",
  );
  return wrong;
}
