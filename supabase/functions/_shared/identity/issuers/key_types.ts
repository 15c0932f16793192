import type { Claims, PublicKey } from "./trust.ts";

/** The algorithms of tokens that are accepted. */
export const ALGORITHMS: readonly unknown[] = ["RS256", "ES256", "EdDSA"];

export type ChosenKey = PublicKey | "unknown_key" | "key_type" | "several_keys";

/**
 * The one key of a set that can verify a token, else why no key was chosen. Sets also have keys for
 * other algorithms and purposes, sometimes under the same `kid`: they do not count (RFC 7517, 4.5).
 * Without a `kid`, only one key may be able to.
 */
export function keyFor(
  keys: readonly PublicKey[],
  { header: { alg, kid }, claims }: { readonly header: Claims; readonly claims: Claims },
): ChosenKey {
  const named = kid === undefined ? keys : keys.filter((key) => key.kid === kid);
  if (named.length === 0) return "unknown_key";
  const isSvid = workloadDomainOf(claims) !== null;
  const [key, ...others] = named.filter((key) => fitOf(key, alg as string, { isSvid }));
  if (key === undefined) return "key_type";
  return others.length === 0 ? key : "several_keys";
}

/**
 * Whether a key can verify signatures by this algorithm (RFC 7517, 4.2 to 4.4). Keys of a SPIFFE
 * trust bundle with the use `jwt-svid` verify JWT-SVIDs alone.
 */
export function fitOf(
  { kty, crv, use, alg, key_ops }: PublicKey,
  algorithm: string,
  { isSvid }: { readonly isSvid: boolean },
): boolean {
  if (use !== undefined && use !== "sig" && !(isSvid && use === "jwt-svid")) return false;
  if (alg !== undefined && alg !== algorithm && !(algorithm === "EdDSA" && alg === "Ed25519")) {
    return false;
  }
  if (key_ops !== undefined && !(Array.isArray(key_ops) && key_ops.includes("verify"))) {
    return false;
  }
  switch (algorithm) {
    case "RS256":
      return kty === "RSA";
    case "ES256":
      return kty === "EC" && crv === "P-256";
    case "EdDSA":
      return kty === "OKP" && crv === "Ed25519";
    default:
      return false;
  }
}

/** A workload's SPIFFE ID (SPIFFE-ID, 2): a trust domain, then a path without empty segments. */
const WORKLOAD = /^(spiffe:\/\/[a-z0-9._-]{1,255})((?:\/[A-Za-z0-9._-]+)+)$/;

/** The trust domain of a JWT-SVID's workload; null: the token is no JWT-SVID. */
export function workloadDomainOf({ sub }: Claims): string | null {
  if (typeof sub !== "string" || sub.length > 2048) return null;
  const [, domain, path = ""] = WORKLOAD.exec(sub) ?? [];
  return domain === undefined || /\/\.\.?(?:\/|$)/.test(path) ? null : domain;
}

/** What a key is, for the operator. */
export function describeKey({ kid, kty, crv, alg, use }: PublicKey): string {
  return [kid ?? "(no kid)", kty, crv, alg, use].filter((part) => typeof part === "string")
    .map((part) => String(part).slice(0, 64)).join(" ");
}
