import type { Platform } from "../operations/operation.ts";
import { issuerKeysOf, trustsOf } from "./enrol_with_token.ts";
import { meets } from "./tokens/conditions.ts";
import { verifyToken } from "./tokens/verify.ts";

/** Which enrolments take a proof, and why others do not. */
interface Tested {
  readonly matches: string[];
  readonly refused: { enrolment_id: string | null; reason: string; claim?: string }[];
}

/** Verifies the token as /enroll does. */
export async function testToken(platform: Platform, token: string): Promise<Tested> {
  const verification = await verifyToken(
    token,
    trustsOf(platform),
    issuerKeysOf(platform),
    Date.now() / 1000,
  );
  if ("refusal" in verification) {
    return { matches: [], refused: [{ enrolment_id: null, ...verification.refusal }] };
  }
  const { matches, refused } = verification;
  return { matches: matches.map(({ enrolment_id }) => enrolment_id), refused: [...refused] };
}

/** Looks at the conditions alone. */
export async function testClaims(
  platform: Platform,
  issuer: string,
  claims: Record<string, unknown>,
): Promise<Tested> {
  const tested: Tested = { matches: [], refused: [] };
  for (const trust of await trustsOf(platform)(issuer)) {
    const refusal = meets(claims, trust);
    if (refusal === null) tested.matches.push(trust.enrolment_id);
    else tested.refused.push({ enrolment_id: trust.enrolment_id, ...refusal });
  }
  return tested;
}
