/** Verifies a token that an issuer has signed. The order of the checks is that of `verifyToken`. */
import { Buffer } from "node:buffer";
import { compactVerify, importJWK } from "jose";
import { isStorable } from "../../request/fields.ts";
import { sha256Hex } from "../secrets.ts";
import { refusalOf } from "./claims.ts";
import { detailOf } from "./detail.ts";
import type { IssuerKeys } from "./issuer_keys.ts";
import { ALGORITHMS, describeKey, keyFor, workloadDomainOf } from "./key_types.ts";
import type { Claims, PublicKey, Refusal, Trust } from "./trust.ts";

const MOST_CHARACTERS = 16_384;
/** How far clocks may differ. */
const LEEWAY_SECONDS = 30;
const LAST_SECOND_OF_YEAR_9999 = 253_402_300_799;

/** JWS Compact Serialization, RFC 7515, 7.1. A token without a signature is refused later. */
const COMPACT = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]*)$/;

interface Form {
  readonly header: Claims;
  readonly claims: Claims;
  /** The text that is signed: the encoded header and claims. */
  readonly signed: string;
}

/** The content of a token whose signature was verified. */
export interface Verified {
  readonly claims: Claims;
  /** Its `jti`, else the SHA-256 of what was signed. */
  readonly tokenId: string;
  /** In seconds since 1970. */
  readonly expiresAt: number;
}

export interface RefusedTrust extends Refusal {
  readonly enrolment_id: string;
}

export type Verification =
  | {
    readonly verified: Verified;
    /** The trusts that accept the token. */
    readonly matches: readonly Trust[];
    readonly refused: readonly RefusedTrust[];
  }
  | { readonly refusal: Refusal };

export interface VerificationContext {
  /** The live trusts of an issuer. */
  readonly trustsOf: (issuer: string) => Promise<readonly Trust[]>;
  readonly keys: IssuerKeys;
  /** In seconds since 1970. */
  readonly now: number;
}

/**
 * Whether a token is valid, and which trusts accept it. Checks form and size, the issuer, the
 * algorithm, the key and the signature; then that there is one audience, and the times; then for
 * each trust its audience, the token's age and the conditions.
 */
export async function verifyToken(
  token: string,
  { trustsOf, keys, now }: VerificationContext,
): Promise<Verification> {
  const form = readForm(token);
  if (form === null) return refused("malformed");
  const { header, claims } = form;
  const issuer = issuerOf(claims);
  if (issuer === null) return refused("claim_missing", "iss");
  const trusts = await trustsOf(issuer);
  if (trusts.length === 0) return refused("unknown_issuer");
  if (!ALGORITHMS.includes(header["alg"])) return refused("algorithm");

  const signed: Trust[] = [];
  const others: RefusedTrust[] = [];
  const verdicts = new Map<string, Promise<Refusal | null>>();
  for (const trust of trusts) {
    // Trusts of one issuer mostly have the same keys, so the signature is checked once per key set.
    const source = JSON.stringify(trust.jwks);
    const verdict = verdicts.get(source) ?? checkSignature(token, form, trust, keys);
    verdicts.set(source, verdict);
    const refusal = await verdict;
    if (refusal === null) signed.push(trust);
    else others.push({ enrolment_id: trust.enrolment_id, ...refusal });
  }
  if (signed.length === 0) {
    const { enrolment_id: _, ...refusal } = others[0]!;
    return { refusal };
  }
  const refusal = audienceRefusal(claims["aud"]) ?? timesRefusal(claims, now);
  if (refusal !== null) return { refusal };

  const matches: Trust[] = [];
  for (const trust of signed) {
    const refusal = trustRefusal(trust, claims, now);
    if (refusal === null) matches.push(trust);
    else others.push({ enrolment_id: trust.enrolment_id, ...refusal });
  }
  const { jti, exp } = claims;
  const isTokenId = typeof jti === "string" && jti !== "" && jti.length <= 256 && isStorable(jti);
  return {
    verified: {
      claims,
      // Without the signature: whoever has a valid ES256 signature can make another one from it.
      tokenId: isTokenId ? jti : sha256Hex(form.signed),
      expiresAt: exp as number,
    },
    matches,
    refused: others,
  };
}

function refused(reason: Refusal["reason"], claim?: string): { readonly refusal: Refusal } {
  return { refusal: claim === undefined ? { reason } : { reason, claim } };
}

function readForm(token: string): Form | null {
  const parts = token.length <= MOST_CHARACTERS ? COMPACT.exec(token) : null;
  if (parts === null) return null;
  const [, headerPart, claimsPart, signature] = parts as unknown as [
    string,
    string,
    string,
    string,
  ];
  const [header, claims] = [readObject(headerPart), readObject(claimsPart)];
  if (header === null || claims === null || bytesOf(signature) === null) return null;
  // Extensions that must be understood (`crit`: RFC 7515, 4.1.11) are not supported, and neither
  // are encrypted tokens and tokens within tokens.
  if ("crit" in header || "enc" in header || "cty" in header) return null;
  return { header, claims, signed: `${headerPart}.${claimsPart}` };
}

/** The bytes of a part; null if it is not their canonical base64url (RFC 7515, 2). */
function bytesOf(part: string): Buffer | null {
  // Deno 2.1 throws for this length, which base64url never has.
  if (part.length % 4 === 1) return null;
  const bytes = Buffer.from(part, "base64url");
  return bytes.toString("base64url") === part ? bytes : null;
}

function readObject(part: string): Claims | null {
  const bytes = bytesOf(part);
  if (bytes === null) return null;
  try {
    const value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/** A JWT-SVID may have no `iss` (JWT-SVID, 3): its issuer is the workload's trust domain. */
function issuerOf(claims: Claims): string | null {
  const { iss } = claims;
  if (iss === undefined) return workloadDomainOf(claims);
  return typeof iss === "string" ? iss : null;
}

async function checkSignature(
  token: string,
  form: Form,
  { issuer, jwks }: Trust,
  issuerKeys: IssuerKeys,
): Promise<Refusal | null> {
  const { alg, kid } = form.header;
  const named = typeof kid === "string" ? kid : undefined;
  const keys = jwks?.keys ?? await issuerKeys.keysOf(issuer, named);
  if (keys === null) {
    return { reason: "issuer_unreachable", detail: issuerKeys.failureOf(issuer) };
  }
  const key = keyFor(keys, form);
  if (typeof key === "string") {
    return { reason: key, detail: detailOf(`The issuer's keys: ${listed(keys)}.`) };
  }
  try {
    const imported = await importJWK(key as Parameters<typeof importJWK>[0], alg as string);
    await compactVerify(token, imported, { algorithms: [alg as string] });
    return null;
  } catch (error) {
    const isSignature =
      (error as { code?: unknown }).code === "ERR_JWS_SIGNATURE_VERIFICATION_FAILED";
    return { reason: isSignature ? "signature" : "key_type" };
  }
}

const MOST_LISTED = 8;

function listed(keys: readonly PublicKey[]): string {
  const first = keys.slice(0, MOST_LISTED).map(describeKey).join("; ") || "none";
  return keys.length > MOST_LISTED ? `${first}; and ${keys.length - MOST_LISTED} more` : first;
}

/** RFC 7519, 4.1.4 to 4.1.6. */
function timesRefusal({ exp, nbf, iat }: Claims, now: number): Refusal | null {
  if (exp === undefined) return { reason: "claim_missing", claim: "exp" };
  for (const [claim, value] of Object.entries({ exp, nbf, iat })) {
    const isTime = typeof value === "number" && value >= 0 && value <= LAST_SECOND_OF_YEAR_9999;
    if (value !== undefined && !isTime) return { reason: "claim_differs", claim };
  }
  if (now > (exp as number) + LEEWAY_SECONDS) return { reason: "expired" };
  if (nbf !== undefined && (nbf as number) > now + LEEWAY_SECONDS) {
    return { reason: "not_yet_valid" };
  }
  if (iat !== undefined && (iat as number) > now + LEEWAY_SECONDS) {
    return { reason: "issued_in_future" };
  }
  return null;
}

/** A token for several audiences is refused: any of the others could send it here. */
function audienceRefusal(aud: unknown): Refusal | null {
  if (aud === undefined) return { reason: "claim_missing", claim: "aud" };
  return audienceOf(aud) === null ? { reason: "audience" } : null;
}

function audienceOf(aud: unknown): string | null {
  const [audience, ...more] = [aud].flat();
  return typeof audience === "string" && more.length === 0 ? audience : null;
}

function trustRefusal(trust: Trust, claims: Claims, now: number): Refusal | null {
  if (audienceOf(claims["aud"]) !== trust.audience) return { reason: "audience" };
  const { max_token_age_seconds: mostAge } = trust;
  if (mostAge !== null) {
    const iat = claims["iat"];
    if (iat === undefined) return { reason: "claim_missing", claim: "iat" };
    if (now - (iat as number) > mostAge + LEEWAY_SECONDS) return { reason: "too_old" };
  }
  return refusalOf(claims, trust.conditions);
}
