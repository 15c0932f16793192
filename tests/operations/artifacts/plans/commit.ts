import { LEASE, pendingIdOf, REGISTRAR, sha256 } from "../../../bench/fill/cast.ts";
import { as, call, type PlannedCall } from "../../../database/plans/planned_call.ts";

const DIGEST = sha256("any bytes");

export const COMMIT_PLANS: readonly PlannedCall[] = [
  call("begin_commit", {
    caller: as(REGISTRAR),
    artifact_id: pendingIdOf(3),
    sha256: DIGEST,
    lease_seconds: 60,
  }, { circumstances: "of an upload" }),
  call("begin_commit", {
    caller: as(REGISTRAR),
    artifact_id: pendingIdOf(2),
    sha256: DIGEST,
    lease_seconds: 60,
  }, { circumstances: "of what an earlier commit sealed" }),
  call("leave_move", { artifact_id: pendingIdOf(4), lease_token: LEASE }, { refused: true }),
  call("save_commit_progress", {
    artifact_id: pendingIdOf(4),
    lease_token: LEASE,
    object_id: LEASE,
    object_version: "1",
    verified_bytes: 1,
    hash_state: "AA==",
  }),
  call("finish_commit", {
    caller: as(REGISTRAR),
    artifact_id: pendingIdOf(4),
    lease_token: LEASE,
    expected_sha256: DIGEST,
    observed_size: 100,
    observed_sha256: DIGEST,
  }, { circumstances: "beside a thousand standing grants" }),
  call("finish_commit", {
    caller: as(REGISTRAR),
    artifact_id: pendingIdOf(8),
    lease_token: LEASE,
    expected_sha256: DIGEST,
    observed_size: 100,
    observed_sha256: DIGEST,
  }, { circumstances: "that a standing grant promised" }),
  call("release_commit", { artifact_id: pendingIdOf(4), lease_token: LEASE }),
];
