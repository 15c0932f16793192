import { HOARDER, OWNER, pendingIdOf, REGISTRAR } from "../../../bench/fill/cast.ts";
import { as, call, type PlannedCall } from "../../../database/plans/planned_call.ts";

const registration = {
  artifact_id: `art_${"0".repeat(32)}`,
  key: "new",
  mime: "text/plain",
  size: 100,
  ttl_days: 1,
  max_pending: 1_000_000,
};

export const REGISTER_PLANS: readonly PlannedCall[] = [
  call("register_artifact", {
    caller: as(OWNER),
    agent_id: OWNER,
    ...registration,
    quota_bytes: 0,
  }),
  call("register_artifact", {
    caller: as(HOARDER),
    agent_id: HOARDER,
    ...registration,
    quota_bytes: 1e15,
  }, { circumstances: "within a quota, beside all that the agent holds" }),
  call("register_artifact", {
    caller: as(HOARDER),
    agent_id: HOARDER,
    ...registration,
    quota_bytes: 1,
  }, { circumstances: "beyond a quota, beside all that the agent holds", refused: true }),
  call("register_artifact", {
    // Its agent key is valid for hours: the keys of the first ones expire after seconds.
    caller: as("enrolled-9999"),
    agent_id: "enrolled-9999",
    ...registration,
    quota_bytes: 1e9,
  }, { circumstances: "by an agent of an enrolment with very many" }),
  call("discard_registration", { caller: as(REGISTRAR), artifact_id: pendingIdOf(3) }),
];
