import { parseTemplate } from "./agent_name.ts";
import { CLAIM_PATH } from "./claims.ts";
import { urlComplaint } from "./fetch_json.ts";
import { fitOf } from "./key_types.ts";
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
    const complaint = urlComplaint(issuer, options);
    if (complaint !== null) complain("issuer", complaint);
  } else issues.push(...checkKeys(jwks));

  if (conditions.some(({ claim }) => !CLAIM_PATH.test(claim))) {
    complain("conditions", "A claim must be a name, or a path such as /kubernetes.io/namespace.");
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
      "Must be of A-Z a-z 0-9 . _ : @ - with at least one claim in braces, such as ci-{run_id}.",
    );
  }
  return issues;
}

/** What is wrong with the keys of an issuer, by field. */
export function checkKeys(jwks: KeySet): Issue[] {
  const message = !jwks.keys.every(isPublicKey)
    ? "Must be public keys for RS256 (2048 bits or more), ES256 or EdDSA (Ed25519) alone."
    : hasTwice(jwks)
    ? "Every key must have a kid of its own."
    : null;
  return message === null ? [] : [{ path: "jwks", message }];
}

function isPublicKey(key: PublicKey): boolean {
  if (SECRET_MEMBERS.some((member) => member in key)) return false;
  if (!["RS256", "ES256", "EdDSA"].some((alg) => fitOf(key, alg))) return false;
  return key.kty !== "RSA" ||
    typeof key["n"] === "string" && Math.floor(key["n"].length * 3 / 4) >= LEAST_RSA_BYTES;
}

function hasTwice({ keys }: KeySet): boolean {
  const kids = keys.map(({ kid }) => kid);
  return keys.length > 1 && (new Set(kids).size < keys.length || kids.includes(undefined));
}
