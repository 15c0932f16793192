import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import type { StorageParts } from "../../../packages/local/storage/server.ts";
import { storageErrors } from "../../../packages/local/storage/storage_error.ts";

const SECRET = "the secret of the simulated project";
const UPLOAD_TOKEN_SECONDS = 7200;

type Claims = Readonly<Record<string, unknown>>;

/**
 * Tokens as `local/storage/tokens.ts` makes them, but at once: Web Crypto would answer from another
 * thread, at an instant that no seed decides.
 */
export function signedTokens(serviceKey: string): StorageParts["tokens"] {
  return {
    signUpload: (url, { upsert }) =>
      Promise.resolve(sign({ url, upsert, scope: "upload" }, UPLOAD_TOKEN_SECONDS)),
    signDownload: (url, seconds) => Promise.resolve(sign({ url, scope: "download" }, seconds)),
    verifySigned(token, { scope, objectUrl }) {
      if (!token) {
        throw storageErrors.invalidRequest("querystring must have required property 'token'");
      }
      const claims = verify(token);
      if (claims["scope"] !== scope || claims["url"] !== objectUrl) {
        throw storageErrors.invalidSignature();
      }
      const expiresAt = new Date(Number(claims["exp"]) * 1000);
      return Promise.resolve({ upsert: claims["upsert"] === true, expiresAt });
    },
    roleOf: (authorization) =>
      Promise.resolve(authorization === `Bearer ${serviceKey}` ? "service_role" : "anon"),
  };
}

function sign(claims: Claims, seconds: number): string {
  const now = Math.floor(Date.now() / 1000);
  const parts = [{ alg: "HS256", typ: "JWT" }, { ...claims, iat: now, exp: now + seconds }];
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"));
  return `${text.join(".")}.${signatureOf(text.join("."))}`;
}

/** Throws StorageError. */
function verify(token: string): Claims {
  const [header, payload, signature] = token.split(".");
  if (signature !== signatureOf(`${header}.${payload}`)) {
    throw storageErrors.invalidJwt("Invalid Compact JWS");
  }
  const claims = JSON.parse(Buffer.from(payload!, "base64url").toString()) as Claims;
  if (Number(claims["exp"]) <= Math.floor(Date.now() / 1000)) {
    throw storageErrors.invalidJwt('"exp" claim timestamp check failed');
  }
  return claims;
}

function signatureOf(text: string): string {
  return createHmac("sha256", SECRET).update(text).digest("base64url");
}
