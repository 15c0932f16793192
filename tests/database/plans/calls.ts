/** One call of each SQL function of the service, on a filled database, and what it may read. */
import { ARTIFACT_CALLS, BEGINNING, ONE_WALK } from "./artifact_calls.ts";
import { MAINTENANCE_CALLS } from "./maintenance_calls.ts";
import { MESH_CALLS } from "./mesh_calls.ts";
import { OPERATOR_CALLS } from "./operator_calls.ts";
import { TAG_CALLS } from "./tag_calls.ts";
import { as, asUser, call, OPERATOR, PEER, type PlannedCall } from "./planned_call.ts";
import { EPOCH, GRANTEE, HOARDER, OWNER } from "../../bench/fill/cast.ts";

/** The position after all rows. */
const END = `${EPOCH}-1000000000:1000000000:`;
const EVENTS = {
  caller: as(HOARDER),
  agent_id: null,
  types: "{artifact.committed}",
  max_entries: 100,
};
/** The same events, after all rows. */
const LATER_EVENTS = {
  kind: "events",
  types: ["artifact.committed"],
  after: `${EPOCH}-1000000000.0`,
};
// Waits from the beginning (WAIT), and from after all rows (LATER).
const WAIT = { agent_id: null, inbox_after: BEGINNING, events_after: `${EPOCH}-3.0` };
const BEGUN = { config_version: 1, wait_seconds: 140 };
const LATER = { inbox_after: END, events_after: LATER_EVENTS.after };

/** Every SQL function of the service, except those that the test names. */
export const CALLS: readonly PlannedCall[] = [
  call("check_health", {}),
  call("check_bucket", {}),
  // Reads rows of the catalogue, and one row per migration.
  call("inspect_deployment", { operations: "{check_health,list_inbox}" }, {
    bounds: { rows: 40_000, pages: 20_000 },
  }),
  call("describe_caller", { caller: as(HOARDER) }),
  call("describe_caller", { caller: asUser(HOARDER) }, { circumstances: "by a user" }),
  call("check_operator", { caller: as(HOARDER) }, { refused: true }),
  call("create_agent_key", { agent_id: OWNER }),
  call("revoke_agent_key", { key_id: "key_unknown" }),
  call("revoke_agent_keys", { agent_id: OWNER }),
  ...ARTIFACT_CALLS,
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

  call("remove_agent", { agent_id: HOARDER, keep_artifacts: false, max_entries: 100 }, {
    circumstances: "with more than one call ends",
    bounds: { rows: 5_000, pages: 10_000 },
  }),
  call("remove_agent", { agent_id: PEER, keep_artifacts: true }, {
    circumstances: "with a peer",
    bounds: { rows: 300, pages: 1000 },
  }),
  call("readmit_agent", { agent_id: HOARDER }),
  call("keep_out_erased", { name_hash: "0".repeat(64) }),
  call("share_agent", { agent_id: HOARDER, way: "users" }),
  // Rare, like an erasure. These tables have only recent rows, and an index by name would make each
  // read and each change slower.
  call("take_over_agent", { agent_id: "enrolled-99", max_entries: 100 }, {
    bounds: { rows: 60_000, pages: 10_000 },
    readsAll: ["agents.reads", "agents.repeated_changes"],
  }),
  call("read_ways", { agent_id: "enrolled-99" }),
  ...TAG_CALLS,
  ...MAINTENANCE_CALLS,
  ...MESH_CALLS,
  ...OPERATOR_CALLS,
];
