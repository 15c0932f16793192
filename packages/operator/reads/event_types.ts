import { ARTIFACT_EVENT_TYPES } from "../../../supabase/functions/agent-artifacts/routes/events.ts";
import { MESH_EVENT_TYPES } from "../../../supabase/functions/agent-mesh/routes/events.ts";

/** Every type of event: those that agents see, and those that only the operator sees. */
export const EVENT_TYPES: readonly string[] = [
  ...ARTIFACT_EVENT_TYPES,
  ...MESH_EVENT_TYPES,
  "agent.enrolled",
  "agent.erased",
  "agent.expired",
  "agent.left",
  "agent.limited",
  "agent.tagged",
  "agent.readmitted",
  "agent.removed",
  "agent.shared",
  "agent.taken_over",
  "ending.replayed",
  "enrolment.created",
  "enrolment.keys_replaced",
  "enrolment.limited",
  "enrolment.refused",
  "enrolment.revoked",
  "epoch.begun",
  "events.forgotten",
  "key.created",
  "key.revoked",
  "key.superseded",
  "name.erased",
  "policy.applied",
  "sender.blocked",
  "sender.unblocked",
];
