import { FLEET_ISSUER, FLEET_KEY, FLEET_TRUST, sha256 } from "../../../bench/fill/cast.ts";
import { call, type PlannedCall } from "../../../database/plans/planned_call.ts";

export const ENROLL_PLANS: readonly PlannedCall[] = [
  call("list_trusts", { issuer: FLEET_ISSUER }),
  call("enrol_with_key", {
    caller: { kind: "enrolment" },
    enrolment_key_hash: sha256(FLEET_KEY),
    agent_name: "enrolled-1",
  }),
  call("enrol_with_token", {
    caller: { kind: "enrolment" },
    enrolment_id: FLEET_TRUST,
    agent_id: "never-enrolled",
    token_id: "token",
    token_expires_at: "2999-01-01",
  }),
  call("refuse_token", {
    caller: { kind: "enrolment" },
    refusals: [{ enrolment_id: FLEET_TRUST, reason: "expired" }],
  }),
];
