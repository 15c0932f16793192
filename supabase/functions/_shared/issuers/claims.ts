import type { Claims, Condition, Refusal } from "./trust.ts";

/** The name of a claim, or the JSON Pointer (RFC 6901) of one within another. */
export const CLAIM_PATH = /^(?:[^/{}~]+|(?:\/(?:[^/{}~]|~[01])+)+)$/;

/** The value of a claim; undefined where the token has none. `__proto__` is no claim. */
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

/** Why the claims do not meet all conditions; null: they do. Never looks into a text. */
export function refusalOf(claims: Claims, conditions: readonly Condition[]): Refusal | null {
  for (const { claim, equals, prefix } of conditions) {
    const value = claimOf(claims, claim);
    if (value === undefined) return { reason: "claim_missing", claim };
    const holds = prefix === undefined
      // "1" is not 1: an issuer that changes the type changes what it says.
      ? equals !== undefined && value === equals
      : typeof value === "string" && prefix !== "" && value.startsWith(prefix);
    if (!holds) return { reason: "claim_differs", claim };
  }
  return null;
}
