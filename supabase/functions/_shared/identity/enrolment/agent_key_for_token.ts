import { ServiceError } from "../../request/errors.ts";
import { isStorable } from "../../request/fields.ts";
import type { Platform } from "../../operations/operation.ts";
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
  readonly instance: string | undefined;
  readonly caller: object;
}

/** Why an enrolment refuses a token, for the operator's events. */
interface TokenRefusal {
  readonly enrolment_id?: string | undefined;
  readonly reason: string;
  readonly claim?: string;
  readonly detail?: string;
}

/** The process has one cache of issuers' keys, for all paths. */
let issuerKeys: IssuerKeys | undefined;

/** Whether issuers on this machine may be trusted: only if the project runs on this machine. */
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
    // A stranger's token may name an issuer that the database cannot store.
    isStorable(issuer) ? await callDatabase<readonly Trust[]>("list_trusts", { issuer }) : [];
}

/** Throws invalid_request, agent_name_taken and limit_exceeded. */
export async function enrolWithToken(
  platform: Platform,
  { token, enrolment_id, agentName, instance, caller }: TokenEnrolment,
): Promise<Outcome> {
  // All refusals go into one call, so that the duration does not reveal how many there are.
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
  // To choose one would be a guess, and each enrolment makes another agent.
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
        caller,
        enrolment_id: trust.enrolment_id,
        agent_id: name,
        token_id: verified.tokenId,
        token_expires_at: new Date(verified.expiresAt * 1000).toISOString(),
        ...(instance !== undefined && { instance }),
      }),
  );
}
