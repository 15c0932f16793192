import { AGENT_ID } from "../named_ids.ts";
import { sha256Hex } from "../secrets.ts";
import { CLAIM_PATH, claimOf } from "./claims.ts";
import type { Claims, Refusal } from "./trust.ts";

const LONGEST = 128;

/** The hash at the end of a name that does not contain all of its claims. */
const SUFFIX = /\.[0-9a-f]{20}$/;

/** A parsed template: texts, with claims between them. */
interface Template {
  /** Has one more entry than `claims`. */
  readonly texts: readonly string[];
  readonly claims: readonly string[];
}

/** Parses a template such as `ci-{repository_id}-{run_id}`; null: it is no template. */
export function parseTemplate(template: string): Template | null {
  const parts = template.split(/\{([^{}]*)\}/);
  const texts = parts.filter((_, index) => index % 2 === 0);
  const claims = parts.filter((_, index) => index % 2 === 1);
  const isRight = claims.length > 0 && claims.every((claim) => CLAIM_PATH.test(claim)) &&
    texts.every((text) => /^[A-Za-z0-9._:@-]*$/.test(text)) && /^(?:[A-Za-z0-9]|$)/.test(texts[0]!);
  return isRight ? { texts, claims } : null;
}

/**
 * The name of the agent that has these claims. Two subjects never become one agent: if a name loses
 * a part of the claims, or could also come from other claims, it ends in a part of their SHA-256.
 */
export function agentIdOf(template: string, claims: Claims): string | Refusal {
  const parsed = parseTemplate(template);
  if (parsed === null) return { reason: "malformed" };
  const values: string[] = [];
  for (const claim of parsed.claims) {
    const value = claimOf(claims, claim);
    if (value === undefined || value === "") return { reason: "claim_missing", claim };
    // JSON parsing reads several larger integers as the same number.
    const isExact = ["string", "boolean"].includes(typeof value) || Number.isSafeInteger(value);
    if (!isExact) return { reason: "claim_differs", claim };
    values.push(String(value));
  }
  const name = fill(parsed, values);
  // A name that ends like a shortened one gets a suffix too: another subject may have that name.
  if (AGENT_ID.test(name) && tellsAll(parsed, values) && !SUFFIX.test(name)) return name;
  const suffix = `.${sha256Hex(JSON.stringify([template, ...values])).slice(0, 20)}`;
  const reduced = fill(parsed, values)
    .replaceAll(/[^A-Za-z0-9._:@-]/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, LONGEST - suffix.length);
  return `${reduced || "agent"}${suffix}`;
}

function fill({ texts }: Template, values: readonly string[]): string {
  return texts.map((text, index) => text + (values[index] ?? "")).join("");
}

/**
 * Whether the claims can be read back from the name. With one claim, they always can. With several,
 * `a-b` and `c` could also be `a` and `b-c`. Claims of letters and digits alone are unambiguous,
 * because each ends at the first other character.
 */
function tellsAll({ texts }: Template, values: readonly string[]): boolean {
  if (values.length === 1) return true;
  return values.every((value) => /^[A-Za-z0-9]+$/.test(value)) &&
    texts.slice(1, -1).every((text) => /[^A-Za-z0-9]/.test(text));
}
