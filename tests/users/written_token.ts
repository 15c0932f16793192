/** Tokens with any header, any claims and any signature. */
import { Buffer } from "node:buffer";
import { createHmac, createPrivateKey, type KeyObject, sign } from "node:crypto";
import { SUPABASE_URL } from "../conformance/client.ts";
import { SIGNING_KEY } from "./signed_in.ts";

export type Claims = Readonly<Record<string, unknown>>;
export type Header = Readonly<Record<string, unknown>>;

/** Returns the signature of the encoded header and claims. */
export type Signer = (signed: string) => Buffer;

export function byEllipticCurve(key: KeyObject): Signer {
  return (signed) => sign("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" });
}

export function byRsa(key: KeyObject): Signer {
  return (signed) => sign("sha256", Buffer.from(signed), key);
}

export function bySecret(secret: string): Signer {
  return (signed) => createHmac("sha256", secret).update(signed).digest();
}

/** The header of the stack's own tokens. */
export const HEADER: Header = { alg: SIGNING_KEY.alg, kid: SIGNING_KEY.kid, typ: "JWT" };

/** The stack's own key. */
export const byStack = byEllipticCurve(
  createPrivateKey({ key: { ...SIGNING_KEY }, format: "jwk" }),
);

/** Valid claims: a signed token with them is accepted. */
export function claimsOf(agentId: unknown, url = SUPABASE_URL): Claims {
  const now = Math.floor(Date.now() / 1000);
  return {
    iss: `${url}/auth/v1`,
    sub: crypto.randomUUID(),
    aud: "authenticated",
    role: "authenticated",
    iat: now,
    exp: now + 600,
    is_anonymous: false,
    app_metadata: { agent_id: agentId },
    user_metadata: {},
  };
}

export function written(
  claims: unknown,
  { header = HEADER, signer = byStack }: { header?: unknown; signer?: Signer } = {},
): string {
  const signed = [header, claims].map((part) => encoded(JSON.stringify(part))).join(".");
  return `${signed}.${signer(signed).toString("base64url")}`;
}

export function encoded(text: string): string {
  return Buffer.from(text).toString("base64url");
}
