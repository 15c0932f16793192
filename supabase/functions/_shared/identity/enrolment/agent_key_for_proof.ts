import { ServiceError } from "../../request/errors.ts";
import type { Platform } from "../../operations/operation.ts";
import { sha256Hex } from "../secrets.ts";
import { fleetTurns } from "./fleet_turns.ts";
import type { Enrolled, Outcome, Proof, Refused } from "./outcome.ts";

export interface EnrolmentRequest {
  readonly proof: Proof;
  /** The name that the agent asks for. */
  readonly agentName: string | undefined;
  /** Which of several instances of the agent asks. */
  readonly instance: string | undefined;
  readonly requestId: string;
}

/**
 * Turns a proof of origin into an agent key. Throws enrolment_refused, token_replayed,
 * agent_name_taken, invalid_request and limit_exceeded.
 */
export async function enrol(
  platform: Platform,
  { proof, agentName, instance, requestId }: EnrolmentRequest,
): Promise<Enrolled> {
  const caller = { kind: "enrolment", request_id: requestId };
  if ("enrolment_key" in proof) {
    const enrolment_key_hash = sha256Hex(proof.enrolment_key);
    const enrolling = () =>
      platform.callDatabase<Outcome>("enrol_with_key", {
        caller,
        enrolment_key_hash,
        agent_name: agentName ?? null,
        // Left out if unused: the schema of the release before does not have it.
        ...(instance !== undefined && { instance }),
      });
    return enrolledOrRefused(await fleetTurns.take(enrolment_key_hash, enrolling));
  }
  // Loaded here, so that an enrolment by key does not wait for the code that verifies tokens.
  const { enrolWithToken } = await import("./agent_key_for_token.ts");
  return enrolledOrRefused(
    await enrolWithToken(platform, { ...proof, agentName, instance, caller }),
  );
}

function enrolledOrRefused(outcome: Outcome): Enrolled {
  if (!("refused" in outcome)) return outcome;
  throw refusalOf(outcome);
}

/** Limits that the operator set. To know them helps nobody without the proof. */
const LIMITS: Readonly<Record<string, string>> = {
  too_many_agents: "agents_of_enrolment",
  too_many_instances: "instances",
};

function refusalOf({ refused, maximum }: Refused): ServiceError {
  const cause = new Error(refused);
  const limit = LIMITS[refused];
  if (limit !== undefined) {
    return new ServiceError("limit_exceeded", { cause, details: { limit, maximum } });
  }
  const code = refused === "token_replayed" ? "token_replayed" : "enrolment_refused";
  return new ServiceError(code, { cause });
}
