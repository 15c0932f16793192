import { Buffer } from "node:buffer";
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** The user name that goes with the token. */
export const PROXY_USER = "mesh";

/** A token for proxies at ports, which other users of this machine can reach, too. */
export function newToken(): string {
  return randomBytes(24).toString("base64url");
}

/** Whether a user and a password are those of the proxies. */
export function isRight(
  given: { readonly user: string; readonly password: string },
  token: string,
): boolean {
  const [one, other] = [`${given.user}:${given.password}`, `${PROXY_USER}:${token}`]
    .map((text) => createHash("sha256").update(text).digest());
  return timingSafeEqual(one!, other!);
}

/** The user and password of a `Proxy-Authorization` header (RFC 7617). Null if it has none. */
export function basicCredentials(
  header: string | undefined,
): { readonly user: string; readonly password: string } | null {
  const [, encoded] = /^basic +([A-Za-z0-9+/=_-]+)$/i.exec(header ?? "") ?? [];
  if (encoded === undefined) return null;
  const text = Buffer.from(encoded, "base64").toString();
  const colon = text.indexOf(":");
  return colon < 0 ? null : { user: text.slice(0, colon), password: text.slice(colon + 1) };
}
