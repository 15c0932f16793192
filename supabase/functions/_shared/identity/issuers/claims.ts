import type { Claims, Condition, Refusal } from "./trust.ts";

/** The name of a claim, or the JSON Pointer (RFC 6901) of a nested claim. */
export const CLAIM_PATH = /^(?:[^/{}~]+|(?:\/(?:[^/{}~]|~[01])+)+)$/;

/**
 * The value of a claim; undefined if the token does not have it. Inherited properties such as
 * `__proto__` are no claims.
 */
export function claimOf(claims: Claims, path: string): unknown {
  const names = path.startsWith("/")
    ? path.slice(1).split("/").map((name) => name.replaceAll("~1", "/").replaceAll("~0", "~"))
    : [path];
  let value: unknown = claims;
  for (const name of names) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    if (!Object.hasOwn(value, name)) return undefined;
    value = (value as Claims)[name];
  }
  return value;
}

/**
 * Why the claims do not meet all conditions; null: they do. A text is compared as a whole or by its
 * prefix, never searched.
 */
export function refusalOf(claims: Claims, conditions: readonly Condition[]): Refusal | null {
  for (const { claim, equals, prefix } of conditions) {
    const value = claimOf(claims, claim);
    if (value === undefined) return { reason: "claim_missing", claim };
    const holds = prefix === undefined
      // "1" does not equal 1: an issuer that changes a claim's type changes what the claim says.
      ? equals !== undefined && value === equals
      : typeof value === "string" && prefix !== "" && value.startsWith(prefix);
    if (!holds) return { reason: "claim_differs", claim };
  }
  return null;
}
