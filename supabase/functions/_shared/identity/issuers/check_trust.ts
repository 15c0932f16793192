import { parseTemplate } from "./agent_name.ts";
import { CLAIM_PATH } from "./claims.ts";
import { urlComplaint } from "./public_address.ts";
import { ALGORITHMS, fitOf } from "./key_types.ts";
import { tenantClaimsOf } from "./shared_issuers.ts";
import type { KeySet, PublicKey, Trust } from "./trust.ts";

interface Issue {
  readonly path: string;
  readonly message: string;
}

/** The members of a private or a shared key: RFC 7518, 6.2.2, 6.3.2 and 6.4.1. */
const SECRET_MEMBERS = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

const LEAST_RSA_BYTES = 256;

/** What is wrong with a trust, by field: agents that the operator does not mean could enrol. */
export function checkTrust(
  trust: Omit<Trust, "enrolment_id" | "max_token_age_seconds">,
  options: { readonly allowLoopback: boolean },
): Issue[] {
  const { issuer, jwks, conditions, agent_template } = trust;
  const issues: Issue[] = [];
  const complain = (path: string, message: string) => issues.push({ path, message });

  if (jwks === null) {
    const complaint = issuer.startsWith("spiffe:")
      ? "The keys of a trust domain cannot be fetched: give its bundle as jwks."
      : urlComplaint(issuer, options);
    if (complaint !== null) complain("issuer", complaint);
  } else issues.push(...checkKeys(jwks));

  const wrong = conditions.find(({ claim }) => !CLAIM_PATH.test(claim));
  if (wrong !== undefined) {
    complain(
      "conditions",
      `A claim must be a name, or a path such as /kubernetes.io/namespace. ${pathFor(wrong.claim)}`,
    );
  }
  const tenantClaims = tenantClaimsOf(issuer);
  if (
    tenantClaims !== null &&
    !conditions.some(({ claim, equals }) => equals !== undefined && tenantClaims.includes(claim))
  ) {
    complain(
      "conditions",
      `This issuer signs for everybody. One condition must use \`equals\` with ${
        tenantClaims.join(" or ")
      }.`,
    );
  }
  if (agent_template !== null && parseTemplate(agent_template) === null) {
    complain(
      "agent_template",
      "Must be of A-Z a-z 0-9 . _ : @ - with at least one claim in braces, such as ci-{run_id}. " +
        pathFor(claimsIn(agent_template).find((claim) => !CLAIM_PATH.test(claim)), "{", "}"),
    );
  }
  return issues;
}

/** How to name a claim whose name has a slash: in a JSON Pointer (RFC 6901). */
function pathFor(claim: string | undefined, before = "", after = ""): string {
  if (claim === undefined || !/[/~]/.test(claim)) return "";
  const escaped = claim.replaceAll("~", "~0").replaceAll("/", "~1");
  return `If this is one claim's name, write it as ${before}/${escaped}${after}.`;
}

function claimsIn(template: string): string[] {
  return Array.from(template.matchAll(/\{([^{}]*)\}/g), ([, claim]) => claim!);
}

/** What is wrong with the keys of an issuer, by field. Keys that nothing here uses are ignored. */
export function checkKeys({ keys }: KeySet): Issue[] {
  const usable = keys.filter((key) => fitting(key).length > 0);
  const message = keys.some((key) => SECRET_MEMBERS.some((member) => member in key))
    ? "Must not have a private or shared key."
    : usable.length === 0
    ? "Must have at least one public key for RS256, ES256 or EdDSA (Ed25519)."
    : usable.some(isWeak)
    ? "An RSA key must have 2048 bits or more."
    : ALGORITHMS.some((alg) => hasTwice(usable.filter((key) => fitting(key).includes(alg))))
    ? "Every key for one algorithm must have a kid of its own."
    : null;
  return message === null ? [] : [{ path: "jwks", message }];
}

/** The algorithms of tokens that a key can verify. */
function fitting(key: PublicKey): unknown[] {
  return ALGORITHMS.filter((alg) => fitOf(key, alg as string, { isSvid: true }));
}

function isWeak({ kty, n }: PublicKey): boolean {
  return kty === "RSA" &&
    !(typeof n === "string" && Math.floor(n.length * 3 / 4) >= LEAST_RSA_BYTES);
}

function hasTwice(keys: readonly PublicKey[]): boolean {
  const kids = keys.map(({ kid }) => kid);
  return keys.length > 1 && (new Set(kids).size < keys.length || kids.includes(undefined));
}
