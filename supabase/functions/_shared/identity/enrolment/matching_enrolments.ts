import type { Platform } from "../../operations/operation.ts";
import { contextOf, trustsOf } from "./agent_key_for_token.ts";
import { refusalOf } from "../issuers/claims.ts";
import { verifyToken } from "../issuers/verify.ts";

/** Which enrolments take a proof, and why others do not. */
interface Tested {
  readonly matches: string[];
  readonly refused: {
    enrolment_id: string | null;
    reason: string;
    claim?: string;
    detail?: string;
  }[];
}

/** Verifies the token as /enroll does. */
export async function testToken(platform: Platform, token: string): Promise<Tested> {
  const verification = await verifyToken(token, contextOf(platform));
  if ("refusal" in verification) {
    return { matches: [], refused: [{ enrolment_id: null, ...verification.refusal }] };
  }
  const { matches, refused } = verification;
  return { matches: matches.map(({ enrolment_id }) => enrolment_id), refused: [...refused] };
}

/** Checks only the conditions. */
export async function testClaims(
  platform: Platform,
  issuer: string,
  claims: Record<string, unknown>,
): Promise<Tested> {
  const tested: Tested = { matches: [], refused: [] };
  for (const trust of await trustsOf(platform)(issuer)) {
    const refusal = refusalOf(claims, trust.conditions);
    if (refusal === null) tested.matches.push(trust.enrolment_id);
    else tested.refused.push({ enrolment_id: trust.enrolment_id, ...refusal });
  }
  return tested;
}
