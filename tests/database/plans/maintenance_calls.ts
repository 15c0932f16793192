/** Calls that maintain the service in bounded steps: erasures, fsck, and usage counts. */
import { call, OPERATOR, type PlannedCall } from "./planned_call.ts";
import {
  agentKeyOf,
  artifactIdOf,
  FLEET,
  FLEET_TRUST,
  GRANTEE,
  HOARDER,
  liveGrantIdOf,
  OWNER,
  POPULAR,
  sha256,
} from "../../bench/fill/cast.ts";

const NO_INDEX_BY_NAME = [
  "agents.reads",
  "agents.repeated_changes",
  "agents.keys",
  "artifacts.blocked_senders",
  "mesh.declined_requests",
];

export const MAINTENANCE_CALLS: readonly PlannedCall[] = [
  // Erasure is rare, so these tables (recent rows, or one row per agent) have no index for it.
  call("erase_agent", { agent_id: HOARDER, max_entries: 100 }, {
    bounds: { rows: 250_000, pages: 40_000 },
    readsAll: NO_INDEX_BY_NAME,
  }),
  call("count_mentions", { agent_id: HOARDER }, {
    bounds: { rows: 300_000, pages: 100_000 },
    readsAll: NO_INDEX_BY_NAME,
  }),
  // Nearly all of this log is about one agent, so the planner expects as many rows for any other.
  call("check_erasure", { pseudonym: `erased-${"0".repeat(32)}` }, {
    bounds: { rows: 60_000, pages: 20_000 },
    readsAll: ["agents.events"],
  }),
  call("set_enrolment_limits", {
    caller: OPERATOR,
    enrolment_id: FLEET,
    limits: { max_agents: 5000, quota_bytes: 1e15 },
  }),
  // It counts up to max_agents agents of each enrolment.
  call("list_full_enrolments", { quota_bytes: 1e15 }, { bounds: { rows: 3_000, pages: 6_000 } }),
  // It counts every agent of each enrolment.
  call("count_use_of_enrolments", { enrolment_ids: `{${FLEET},${FLEET_TRUST}}` }, {
    bounds: { rows: 30_000, pages: 30_000 },
  }),
  call("set_agent_quota", { agent_id: OWNER, quota_bytes: 5 }),
  call("count_tag_losses", { agent_id: OWNER, tags: "{tag:builder,tag:planner}" }),
  call("set_agent_tags", { agent_id: OWNER, tags: "{tag:builder,tag:planner}" }),
  call("note_first_use", {
    caller: { kind: "agent", key_hash: sha256(agentKeyOf("enrolled-1")) },
  }),
  call("count_enrolled", { enrolment_id: FLEET }, {
    bounds: { rows: 60_000, pages: 100_000 },
  }),
  call("record_usage", {
    entries: [HOARDER, OWNER, GRANTEE].map((agentId) => ({
      key_hash: sha256(agentKeyOf(agentId)),
      seconds_ago: 1,
      requests: 5,
      refusals: { forbidden: 1 },
      is_unknown: true,
    })),
    activity: { function_name: "agent-mesh", requests: 15, errors: { forbidden: 3 } },
  }),
  call("read_artifacts_metrics", { caller: OPERATOR }, { bounds: { rows: 4_000, pages: 6_000 } }),
  call("list_artifacts_without_bytes", { max_entries: 1000, after: artifactIdOf(POPULAR) }, {
    bounds: { rows: 3_000, pages: 6_000 },
  }),
  call("list_sealed_artifacts", { max_entries: 1000, after: artifactIdOf(POPULAR) }, {
    bounds: { rows: 3_000, pages: 6_000 },
  }),
  call("mark_lost_artifacts", {
    lost_paths: `{sealed/${artifactIdOf(POPULAR)}/1}`,
    found_paths: "{}",
  }),
  call("list_objects_without_artifact", {
    max_entries: 1000,
    after: `sealed/${artifactIdOf(POPULAR)}`,
  }, { bounds: { rows: 3_000, pages: 10_000 } }),
  call("count_archived_versions", {
    max_entries: 1000,
    after: `sealed/${artifactIdOf(POPULAR)}`,
  }, { bounds: { rows: 1_500, pages: 6_000 } }),
  call("list_shares_of_artifacts", { max_entries: 1000, after: artifactIdOf(POPULAR) }, {
    bounds: { rows: 1_500, pages: 3_000 },
  }),
  call("list_shares_of_grants", { max_entries: 1000, after: liveGrantIdOf(20) }, {
    bounds: { rows: 1_500, pages: 3_000 },
  }),
  call("list_totals", { max_entries: 1000, after: "owner-" }, {
    bounds: { rows: 1_500, pages: 3_000 },
  }),
];
