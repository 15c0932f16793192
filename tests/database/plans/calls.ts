/** One call of each SQL function of the service, on a filled database, and what it may read. */
import { MAINTENANCE_CALLS } from "./maintenance_calls.ts";
import { MESH_CALLS } from "./mesh_calls.ts";
import { OPERATOR_CALLS } from "./operator_calls.ts";
import { TAG_CALLS } from "./tag_calls.ts";
import { as, asUser, call, OPERATOR, PEER, type PlannedCall } from "./planned_call.ts";
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
/** Snapshots before all that the tables hold, and after it. */
const BEGINNING = `${EPOCH}-3:3:`;
const END = `${EPOCH}-1000000000:1000000000:`;
const EVENTS = {
  caller: as(HOARDER),
  agent_id: null,
  types: "{artifact.committed}",
  max_entries: 100,
};
/** The same, since all that the tables hold. */
const LATER_EVENTS = {
  kind: "events",
  types: ["artifact.committed"],
  after: `${EPOCH}-1000000000.0`,
};
/** What /wait asks for: since the beginning, and since all that the tables hold. */
const WAIT = { agent_id: null, inbox_after: BEGINNING, events_after: `${EPOCH}-3.0` };
const BEGUN = { config_version: 1, wait_seconds: 140 };
const LATER = { inbox_after: END, events_after: LATER_EVENTS.after };
const GIVEN = { caller: as(HOARDER), agent_id: null, max_entries: 100, cursor: null };
/** What a page of events may walk, and a second look at each. */
const ONE_WALK = { rows: 6_000, pages: 9_000 };

/** Every SQL function of the service, except those that the test names. */
export const CALLS: readonly PlannedCall[] = [
  call("check_health", {}),
  call("check_bucket", {}),
  // Rows of the catalogue, and one per migration.
  call("inspect_deployment", { operations: "{check_health,list_inbox}" }, {
    bounds: { rows: 40_000, pages: 20_000 },
  }),
  call("describe_caller", { caller: as(HOARDER) }),
  call("describe_caller", { caller: asUser(HOARDER) }, { circumstances: "by a user" }),
  call("check_operator", { caller: as(HOARDER) }, { refused: true }),
  call("create_agent_key", { agent_id: OWNER }),
  call("revoke_agent_key", { key_id: "key_unknown" }),
  call("revoke_agent_keys", { agent_id: OWNER }),

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
    // With this one it has a round number more on record, so it is looked how many ended.
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
  call("list_events", { ...EVENTS, after: null }, {
    circumstances: "the newest page",
    bounds: ONE_WALK,
  }),
  call("list_events", { ...EVENTS, after: `${EPOCH}-3.0` }, {
    circumstances: "a page in the middle",
    bounds: ONE_WALK,
  }),
  call("list_events", { ...EVENTS, caller: OPERATOR, after: null }, {
    circumstances: "the newest page of all agents",
    bounds: ONE_WALK,
  }),
  call("list_events", { ...EVENTS, caller: OPERATOR, after: `${EPOCH}-3.0` }, {
    circumstances: "a page of all agents",
    bounds: ONE_WALK,
  }),
  call("find_changes", {
    waits: [
      { kind: "inbox", caller: as(GRANTEE), agent_id: null, from_agent: null, after: END },
      { kind: "inbox", caller: as(GRANTEE), agent_id: null, from_agent: HOARDER, after: END },
      { kind: "inbox", caller: asUser(GRANTEE), agent_id: null, from_agent: null, after: END },
      { kind: "configuration", caller: as(PEER), agent_id: null, version: 1 },
      { ...LATER_EVENTS, caller: as(HOARDER), agent_id: null },
      { ...LATER_EVENTS, caller: OPERATOR, agent_id: null },
      { kind: "all", caller: as(GRANTEE), agent_id: null, version: 1, ...LATER },
    ],
  }),
  call("begin_wait", { caller: as(GRANTEE), ...WAIT, events_after: null, ...BEGUN }, {
    bounds: ONE_WALK,
  }),
  call("begin_wait", { caller: as(PEER), ...WAIT, events_after: null, ...BEGUN }, {
    circumstances: "of a peer",
  }),
  call("read_news", { caller: as(GRANTEE), ...WAIT, events_after: null }, { bounds: ONE_WALK }),
  call("read_news", { caller: as(HOARDER), ...WAIT }, {
    circumstances: "beside many events",
    bounds: ONE_WALK,
  }),
  call("delete_artifact", { caller: as(HOARDER), artifact_id: artifactIdOf(POPULAR) }),

  call("remove_agent", { agent_id: HOARDER, keep_artifacts: false, max_entries: 100 }, {
    circumstances: "with more than one call ends",
    bounds: { rows: 5_000, pages: 10_000 },
  }),
  call("remove_agent", { agent_id: PEER, keep_artifacts: true }, {
    circumstances: "with a peer",
    bounds: { rows: 300, pages: 1000 },
  }),
  call("readmit_agent", { agent_id: HOARDER }),
  ...TAG_CALLS,
  ...MAINTENANCE_CALLS,
  ...MESH_CALLS,
  ...OPERATOR_CALLS,
];
