import { findEnrolment } from "../enrolment/all_enrolments.ts";
import { callAsOperator } from "../operator_call.ts";
import type { PolicyInForce } from "../policy/policy_in_force.ts";
import type { EventRow } from "../reads/rows.ts";

/**
 * Adds what an event does not contain and a replay needs: the text of the policy, and the public
 * keys that a trust has now. A policy that another has replaced stays without its text.
 */
export async function* withSources(events: AsyncIterable<EventRow>): AsyncGenerator<EventRow> {
  for await (const event of events) {
    if (event.type === "policy.applied") {
      const policy = await callAsOperator("read_policy", {}) as PolicyInForce | null;
      const isInForce = policy !== null && policy.fingerprint === event["fingerprint"];
      yield isInForce ? { ...event, source: policy.source } : event;
    } else if (event.type === "enrolment.keys_replaced") {
      yield { ...event, jwks: (await findEnrolment(String(event["enrolment_id"])))?.jwks };
    } else yield event;
  }
}
