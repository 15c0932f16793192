/** Tokens that are refused, by their only fault. Without it, each would be accepted. */
import { Buffer } from "node:buffer";
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { SIGNING_KEY } from "./signed_in.ts";
import {
  byEllipticCurve,
  byRsa,
  bySecret,
  byStack,
  type Claims,
  claimsOf,
  encoded,
  HEADER,
  written,
} from "./written_token.ts";

const publicKey = createPublicKey({ key: { ...SIGNING_KEY }, format: "jwk" });
const otherCurveKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
const rsaKey = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;

export function refusedTokens(agentId: string): Record<string, string> {
  return {
    ...byClaims(agentId),
    ...bySignature(claimsOf(agentId)),
    ...byForm(claimsOf(agentId)),
  };
}

/** Tokens with the project's valid signature, whose claims are not those of a signed-in agent. */
function byClaims(agentId: string): Record<string, string> {
  const now = Math.floor(Date.now() / 1000);
  const valid = claimsOf(agentId);
  const changes: Record<string, Claims> = {
    "expired": { exp: now - 1 },
    "without an end": { exp: undefined },
    "an end that is no number": { exp: String(now + 600) },
    "an end beyond all years": { exp: 1e300 },
    "not yet valid": { nbf: now + 300 },
    "of another project": { iss: "https://abcdefghijklmnopqrst.supabase.co/auth/v1" },
    "of an issuer within the project": { iss: String(valid["iss"]).replace("/auth/v1", "") },
    "without an issuer": { iss: undefined },
    "for another audience": { aud: "account" },
    "for other audiences": { aud: ["account", "other"] },
    "without an audience": { aud: undefined },
    "of an anonymous user": { is_anonymous: true },
    "of the role service_role": { role: "service_role" },
    "of the role anon": { role: "anon" },
    "without a role": { role: undefined },
    "without a user": { sub: undefined },
    "of a user that is no UUID": { sub: "ada" },
    "without app_metadata": { app_metadata: undefined },
    "without an agent_id": { app_metadata: { provider: "email" } },
    "with an agent_id in user_metadata alone": {
      app_metadata: {},
      user_metadata: { agent_id: agentId },
    },
    "with an agent_id among the claims alone": { app_metadata: {}, agent_id: agentId },
    "of an OAuth client": { client_id: crypto.randomUUID() },
    "of an OAuth client without a name": { client_id: "" },
    "of an OAuth client that is null": { client_id: null },
    "of an OAuth client that is no text": { client_id: 7 },
    "of OAuth clients": { client_id: [crypto.randomUUID()] },
  };
  const malformed: unknown[] = ["", "-x", `${agentId} `, "a".repeat(129), 7, null, [agentId], {}];
  for (const name of malformed) {
    changes[`with the agent_id ${JSON.stringify(name).slice(0, 20)}`] = {
      app_metadata: { agent_id: name },
    };
  }
  return Object.fromEntries(
    Object.entries(changes).map(([what, change]) => [what, written({ ...valid, ...change })]),
  );
}

function bySignature(claims: Claims): Record<string, string> {
  const [header, payload, signature] = written(claims).split(".");
  const more = encoded(JSON.stringify({ ...claims, app_metadata: { agent_id: "somebody-else" } }));
  const unsigned = () => Buffer.alloc(0);
  return {
    "alg none": written(claims, { header: { alg: "none", typ: "JWT" }, signer: unsigned }),
    "alg none with a known key": written(claims, {
      header: { ...HEADER, alg: "none" },
      signer: unsigned,
    }),
    "alg none over a right signature": written(claims, { header: { ...HEADER, alg: "none" } }),
    "without an alg": written(claims, { header: { ...HEADER, alg: undefined } }),
    "an alg of another kind": written(claims, { header: { ...HEADER, alg: ["ES256"] } }),
    "ES512": written(claims, { header: { ...HEADER, alg: "ES512" } }),
    "HS256, the public key for a secret": written(claims, {
      header: { alg: "HS256", typ: "JWT" },
      signer: bySecret(publicKey.export({ type: "spki", format: "pem" }).toString()),
    }),
    "HS256, the public key for a secret, by its id": written(claims, {
      header: { ...HEADER, alg: "HS256" },
      signer: bySecret(JSON.stringify(publicKey.export({ format: "jwk" }))),
    }),
    "HS256 by another secret": written(claims, {
      header: { alg: "HS256", typ: "JWT" },
      signer: bySecret("another project's"),
    }),
    "RS256 by the id of a key for ES256": written(claims, {
      header: { ...HEADER, alg: "RS256" },
      signer: byRsa(rsaKey),
    }),
    "by a key that the project does not have": written(claims, {
      header: { ...HEADER, kid: crypto.randomUUID() },
      signer: byEllipticCurve(otherCurveKey),
    }),
    "by another key in the name of the project's": written(claims, {
      signer: byEllipticCurve(otherCurveKey),
    }),
    "by the project's key, not named": written(claims, {
      header: { alg: "ES256", typ: "JWT" },
    }),
    "by a key whose id is no text": written(claims, { header: { ...HEADER, kid: 7 } }),
    "without its signature": `${header}.${payload}.`,
    "with a cut signature": `${header}.${payload}.${signature!.slice(0, -2)}`,
    "with the signature of other claims": `${header}.${more}.${signature}`,
  };
}

function byForm(claims: Claims): Record<string, string> {
  const [header, payload, signature] = written(claims).split(".");
  return {
    "a.b.c": "a.b.c",
    "two dots": "..",
    "three names": "header.claims.signature",
    "two parts": `${header}.${payload}`,
    "four parts": `${header}.${payload}.${signature}.${signature}`,
    "claims that are no object": written(null),
    "claims that are a list": written([claims]),
    "claims that are no JSON": `${header}.${encoded("{")}.${byStack("").toString("base64url")}`,
    "a header that is no object": written(claims, { header: null }),
    "a header that is no JSON": `${encoded("ES256")}.${payload}.${signature}`,
    "letters of another alphabet": `${header}.${payload}.${signature}+/=`,
  };
}
