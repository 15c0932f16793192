import { allEnrolments } from "../enrolment/all_enrolments.ts";
import { endOf, type Enrolment } from "../enrolment/enrolment.ts";
import { callAsOperator } from "../operator_call.ts";
import { rowsOf } from "../pages.ts";

/** An agent key that the restored database accepts. */
export interface LiveKey {
  readonly key_id: string;
  readonly agent_id: string;
  readonly label: string | null;
  readonly created_at: string;
  readonly last_used_at: string | null;
}

/** Throws CommandError. */
export function liveKeys(): AsyncGenerator<LiveKey> {
  return rowsOf<LiveKey>("list_live_keys");
}

/** Throws CommandError. */
export async function* liveEnrolments(): AsyncGenerator<Enrolment> {
  for await (const enrolment of allEnrolments()) {
    if (endOf(enrolment) === null) yield enrolment;
  }
}

/**
 * Ends an enrolment, and the keys, peers and rules of all its agents, like /enrolment/revoke. Does
 * not need the functions, which may not run yet. Throws CommandError.
 */
export async function revokeEnrolment({ enrolment_id }: Enrolment): Promise<void> {
  const caller = { kind: "operator" };
  let remaining: number;
  do {
    const step = await callAsOperator("revoke_enrolment", { caller, enrolment_id }) as {
      readonly to_end: readonly string[];
      readonly remaining: number;
    };
    for (const agent_id of step.to_end) {
      await callAsOperator("end_enrolled_agent", { caller, enrolment_id, agent_id });
    }
    ({ remaining } = step);
  } while (remaining > 0);
}
