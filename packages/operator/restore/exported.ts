import { findEnrolment } from "../enrolment/all_enrolments.ts";
import { callAsOperator } from "../operator_call.ts";
import type { PolicyInForce } from "../policy/policy_in_force.ts";
import type { EventRow } from "../reads/rows.ts";

/** What identifies the database, also after a restore and in a copy. Throws CommandError. */
export async function ownProject(): Promise<string> {
  const { project } = await callAsOperator("read_project", {}) as { readonly project: string };
  return project;
}

/**
 * Adds what an event does not contain and a replay needs: the project, the text of the policy, and
 * the public keys that a trust has now. A policy that another has replaced stays without its text.
 */
export async function* withSources(events: AsyncIterable<EventRow>): AsyncGenerator<EventRow> {
  const project = await ownProject();
  for await (const found of events) {
    const event: EventRow = { ...found, project };
    if (event.type === "policy.applied") {
      const policy = await callAsOperator("read_policy", {}) as PolicyInForce | null;
      const isInForce = policy !== null && policy.fingerprint === event["fingerprint"];
      yield isInForce ? { ...event, source: policy.source } : event;
    } else if (event.type === "enrolment.keys_replaced") {
      yield { ...event, jwks: (await findEnrolment(String(event["enrolment_id"])))?.jwks };
    } else yield event;
  }
}
