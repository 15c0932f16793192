import type { PublicKey } from "./trust.ts";

/** Whether a key can verify signatures by this algorithm (RFC 7517, 4.2 to 4.4). */
export function fitOf({ kty, crv, use, alg, key_ops }: PublicKey, algorithm: string): boolean {
  if (use !== undefined && use !== "sig") return false;
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
