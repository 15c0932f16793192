/** Calls of the SQL functions for artifacts, grants and inboxes. */
import {
  artifactIdOf,
  EPOCH,
  GRANTEE,
  grantTokenOf,
  HOARDER,
  LEASE,
  LIMITED,
  liveGrantIdOf,
  OWNER,
  pendingIdOf,
  POPULAR,
  READER,
  REGISTRAR,
  RENAMER,
  sha256,
} from "../../bench/fill/cast.ts";
import { as, call, type PlannedCall } from "./planned_call.ts";

const IN_A_DAY = new Date(Date.now() + 86_400_000).toISOString();
const DIGEST = sha256("any bytes");
const registration = {
  artifact_id: `art_${"0".repeat(32)}`,
  key: "new",
  mime: "text/plain",
  size: 100,
  ttl_days: 1,
  max_pending: 1_000_000,
};
const GIVEN = { caller: as(HOARDER), agent_id: null, max_entries: 100, cursor: null };
/** The position before all rows. */
export const BEGINNING = `${EPOCH}-3:3:`;
/** Bounds for a page that walks the events and looks up each of them once more. */
export const ONE_WALK = { rows: 6_000, pages: 9_000 };

export const ARTIFACT_CALLS: readonly PlannedCall[] = [
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
    caller: as("enrolled-1"),
    agent_id: "enrolled-1",
    ...registration,
    quota_bytes: 1e9,
  }, { circumstances: "by an agent of an enrolment with very many" }),
  call("discard_registration", { caller: as(REGISTRAR), artifact_id: pendingIdOf(3) }),
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
  }),
  call("release_commit", { artifact_id: pendingIdOf(4), lease_token: LEASE }),
  call("list_artifacts", {
    caller: as(HOARDER),
    agent_id: HOARDER,
    prefix: "files/",
    max_entries: 100,
    after_key: "files/00050000",
  }, { circumstances: "a page of 100 in the middle", bounds: { rows: 2_500, pages: 3_000 } }),
  call("list_artifacts", {
    caller: as(RENAMER),
    agent_id: RENAMER,
    prefix: "",
    max_entries: 100,
    after_key: null,
  }, { circumstances: "behind keys that ended" }),
  call("grant_artifact", {
    caller: as(HOARDER),
    artifact_id: artifactIdOf(POPULAR),
    to_agent: GRANTEE,
    expires_at: IN_A_DAY,
    grant_id: `grant_${"0".repeat(32)}`,
    token_hash: DIGEST,
    max_live_grants: 1000,
  }, { circumstances: "beside grants of the same that ended" }),
  call("grant_artifact", {
    caller: as(HOARDER),
    artifact_id: artifactIdOf(POPULAR),
    to_agent: null,
    expires_at: IN_A_DAY,
    grant_id: `grant_${"0".repeat(32)}`,
    token_hash: DIGEST,
    max_live_grants: 1000,
    max_downloads: 5,
  }, { circumstances: "for anyone with the token, with a limit" }),
  call("grant_artifact", {
    caller: as(HOARDER),
    artifact_id: artifactIdOf(POPULAR),
    to_agent: GRANTEE,
    expires_at: IN_A_DAY,
    grant_id: `grant_${"0".repeat(32)}`,
    token_hash: DIGEST,
    max_live_grants: 1000,
    // Every 100th grant above the limit looks for surplus ones; with this limit, this grant does.
    max_ended_grants: 10_001,
  }, { circumstances: "that forgets others", bounds: { rows: 12_000, pages: 15_000 } }),
  call("revoke_grants", {
    caller: as(HOARDER),
    artifact_id: artifactIdOf(POPULAR),
    to_agent: GRANTEE,
    grant_id: null,
  }, { circumstances: "beside grants of the same that ended" }),
  call("revoke_grants", {
    caller: as(OWNER),
    artifact_id: null,
    to_agent: null,
    grant_id: liveGrantIdOf(7),
  }, { circumstances: "of one grant" }),
  call("redeem_grant_token", {
    caller: { kind: "grant_token", request_id: "plans" },
    token_hash: sha256(grantTokenOf(7)),
    window_seconds: 60,
  }),
  call("redeem_grant_token", {
    caller: { kind: "grant_token", request_id: "plans" },
    token_hash: sha256(grantTokenOf(LIMITED)),
    window_seconds: 60,
  }, { circumstances: "of a grant with a limit" }),
  call("check_grant_token", { token_hash: sha256(grantTokenOf(LIMITED)) }),
  call("return_download", { grant_id: liveGrantIdOf(LIMITED) }),
  call("open_artifact", {
    caller: as(GRANTEE),
    artifact_id: artifactIdOf(500),
    window_seconds: 60,
  }, { circumstances: "as the grantee" }),
  call("open_artifact", {
    caller: as(GRANTEE),
    artifact_id: artifactIdOf(POPULAR),
    window_seconds: 60,
  }, { circumstances: "beside grants of the same that ended", refused: true }),
  call("open_artifact", {
    caller: as(HOARDER),
    artifact_id: null,
    window_seconds: 60,
    key: "files/00000001",
  }, { circumstances: "by key" }),
  call("open_artifact", {
    caller: as(HOARDER),
    artifact_id: null,
    window_seconds: 60,
    key: "pl\u00e4n/00000107".normalize("NFD"),
  }, { circumstances: "by a key in another spelling" }),
  call("open_artifact", {
    caller: as(GRANTEE),
    artifact_id: null,
    window_seconds: 60,
    key: "pl\u00e4n/00000107".normalize("NFD"),
    agent_id: HOARDER,
  }, { circumstances: "by a key in another spelling, without a grant", refused: true }),
  call("open_artifact", {
    caller: as(HOARDER),
    artifact_id: artifactIdOf(POPULAR),
    window_seconds: 60,
  }, { circumstances: "as the owner" }),
  call("list_inbox", {
    caller: as(GRANTEE),
    agent_id: GRANTEE,
    max_entries: 50,
    after_grant_id: null,
  }, { circumstances: "beside grants that ended" }),
  call("list_inbox", {
    caller: as(READER),
    agent_id: READER,
    max_entries: 20,
    after_grant_id: liveGrantIdOf(20),
  }, { circumstances: "a page in the middle", bounds: { rows: 500, pages: 1000 } }),
  call("list_inbox", {
    caller: as(GRANTEE),
    agent_id: null,
    max_entries: 50,
    after_grant_id: null,
    from_agent: HOARDER,
  }, { circumstances: "of one sender, beside grants of it that ended" }),
  call("list_inbox", {
    caller: as(GRANTEE),
    agent_id: null,
    max_entries: 50,
    after_grant_id: null,
    after: BEGINNING,
  }, { circumstances: "of very much that was granted since", bounds: ONE_WALK }),
  call("block_sender", {
    caller: as(GRANTEE),
    agent_id: null,
    from_agent: HOARDER,
    max_blocked: 1000,
  }),
  call("unblock_sender", { caller: as(GRANTEE), agent_id: null, from_agent: HOARDER }),
  call("list_grants", { ...GIVEN, artifact_id: null, to_agent: null }, {
    circumstances: "of an agent beside its grants that ended",
  }),
  call("list_grants", { ...GIVEN, artifact_id: artifactIdOf(POPULAR), to_agent: null }, {
    circumstances: "of an artifact beside its grants that ended",
  }),
  call("list_grants", { ...GIVEN, artifact_id: null, to_agent: GRANTEE }, {
    circumstances: "to an agent beside its grants that ended",
  }),
  call("delete_artifact", { caller: as(HOARDER), artifact_id: artifactIdOf(POPULAR) }),
];
