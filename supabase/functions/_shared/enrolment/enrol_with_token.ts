import { ServiceError } from "../errors.ts";
import { isStorable } from "../fields.ts";
import type { Platform } from "../operations/operation.ts";
import { agentIdOf } from "../issuers/agent_name.ts";
import { IssuerKeys } from "../issuers/issuer_keys.ts";
import type { Trust } from "../issuers/trust.ts";
import { type VerificationContext, verifyToken } from "../issuers/verify.ts";
import { fleetTurns } from "./fleet_turns.ts";
import type { Outcome } from "./outcome.ts";

interface TokenEnrolment {
  readonly token: string;
  readonly enrolment_id?: string | undefined;
  readonly agentName: string | undefined;
  readonly caller: object;
}

/** For the operator's events. */
interface TokenRefusal {
  readonly enrolment_id?: string | undefined;
  readonly reason: string;
  readonly claim?: string;
}

/** One set for the process, whichever path asks. */
let issuerKeys: IssuerKeys | undefined;

/** A project on this machine may trust an issuer on this machine. */
export function allowsLoopback({ settings }: Platform): boolean {
  return new URL(settings.supabaseUrl).hostname === "127.0.0.1";
}

/** What a token is verified with. */
export function contextOf(platform: Platform): VerificationContext {
  issuerKeys ??= new IssuerKeys({ allowLoopback: allowsLoopback(platform) });
  return { trustsOf: trustsOf(platform), keys: issuerKeys, now: Date.now() / 1000 };
}

/** The live trusts of an issuer, as the database has them. */
export function trustsOf(
  { callDatabase }: Platform,
): (issuer: string) => Promise<readonly Trust[]> {
  return async (issuer) =>
    // A stranger's token may name an issuer that no row can hold.
    isStorable(issuer) ? await callDatabase<readonly Trust[]>("list_trusts", { issuer }) : [];
}

/** Throws invalid_request, agent_name_taken and limit_exceeded. */
export async function enrolWithToken(
  platform: Platform,
  { token, enrolment_id, agentName, caller }: TokenEnrolment,
): Promise<Outcome> {
  // However many enrolments refuse it, in one call: how long it takes tells nobody how many.
  const refuse = (...refusals: readonly TokenRefusal[]) =>
    platform.callDatabase<Outcome>("refuse_token", { caller, refusals });
  const verification = await verifyToken(token, {
    ...contextOf(platform),
    trustsOf: async (issuer) =>
      (await trustsOf(platform)(issuer)).filter((trust) =>
        enrolment_id === undefined || trust.enrolment_id === enrolment_id
      ),
  });
  if ("refusal" in verification) {
    return await refuse({ ...verification.refusal, enrolment_id });
  }
  const { verified, matches, refused } = verification;
  const [trust, another] = matches;
  if (trust === undefined) {
    return await refuse(...refused);
  }
  // One of them would be a guess, and each makes another agent.
  if (another !== undefined) return await refuse({ reason: "several_enrolments_match" });

  const name = trust.agent_id ?? agentIdOf(trust.agent_template!, verified.claims);
  if (typeof name !== "string") return await refuse({ ...name, enrolment_id: trust.enrolment_id });
  if (agentName !== undefined && agentName !== name) {
    const message = "This enrolment is for another agent. Leave the name out.";
    throw new ServiceError("invalid_request", {
      details: { issues: [{ path: "agent_name", message }] },
    });
  }
  return await fleetTurns.take(
    trust.enrolment_id,
    () =>
      platform.callDatabase<Outcome>("enrol_with_token", {
        ...{ caller, enrolment_id: trust.enrolment_id, agent_id: name },
        token_id: verified.tokenId,
        token_expires_at: new Date(verified.expiresAt * 1000).toISOString(),
      }),
  );
}
