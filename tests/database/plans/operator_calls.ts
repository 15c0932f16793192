/** One call of each SQL function for the operator, on a filled database, and what it may read. */
import {
  artifactIdOf,
  EPOCH,
  GRANTEE,
  HOARDER,
  HOOK,
  HOOK_ARRANGED,
  OWNER,
  POPULAR,
  RENAMER,
} from "../../bench/fill/cast.ts";
import { call, HUB, PEER, type PlannedCall } from "./planned_call.ts";

const PAGE = { max_entries: 100 };
/** The position after all events. */
const LATER = `${EPOCH}-9000000000000000000.0`;
const YESTERDAY = new Date(Date.now() - 86_400_000).toISOString();
/** Bounds for a few index look-ups per entry of a page. */
const A_FEW_EACH = { rows: 3_000, pages: 6_000 };
/** Bounds for a page that walks the events and looks up each of them once more. */
const ONE_WALK = { rows: 6_000, pages: 9_000 };

const POLICY = {
  source: "",
  rules: [{
    from: ["tag:planner", PEER],
    to: [HUB.agentId, OWNER],
    ports: [443, 80],
    proto: "tcp",
  }],
};

export const OPERATOR_CALLS: readonly PlannedCall[] = [
  call("list_agents", { ...PAGE, after: "peer-5" }, { bounds: A_FEW_EACH }),
  call("list_agents", { ...PAGE, tag: "tag:fleet-1" }, {
    circumstances: "with a tag",
    bounds: A_FEW_EACH,
  }),
  call("list_agents", { ...PAGE, with_ended: true }, {
    circumstances: "those that ended too",
    bounds: A_FEW_EACH,
  }),
  call("read_agent", { agent_id: HOARDER }, {
    circumstances: "beside its grants that ended",
    bounds: { rows: 2_500, pages: 4_000 },
  }),
  call("read_agent", { agent_id: HUB.agentId }, {
    circumstances: "with very many rules",
    bounds: { rows: 5_000, pages: 5_000 },
  }),
  call("list_live_keys", { max_entries: 1000, after: "key_5" }, {
    bounds: { rows: 3_000, pages: 6_000 },
  }),
  call("read_project", {}),
  call("list_webhooks", { ...PAGE, after: "" }, {
    arranged: HOOK_ARRANGED,
    bounds: { rows: 4_000, pages: 6_000 },
  }),
  call("list_deliveries", { ...PAGE, webhook_id: HOOK }, { bounds: A_FEW_EACH }),
  call("list_deliveries", { ...PAGE, webhook_id: HOOK, state: "waiting" }, {
    circumstances: "that wait",
    bounds: A_FEW_EACH,
  }),
  call("list_deliveries", { ...PAGE, webhook_id: HOOK, state: "parked" }, {
    circumstances: "that are parked",
    bounds: A_FEW_EACH,
  }),
  call("requeue_deliveries", { webhook_id: HOOK, event_id: 1 }, { arranged: HOOK_ARRANGED }),
  call("requeue_deliveries", { webhook_id: HOOK, event_id: null, max_entries: 100 }, {
    arranged: HOOK_ARRANGED,
    circumstances: "many",
    bounds: A_FEW_EACH,
  }),
  call("test_webhook", { webhook_id: HOOK }, { arranged: HOOK_ARRANGED }),
  call("delete_webhook", { webhook_id: HOOK }, { arranged: HOOK_ARRANGED }),
  call("list_webhook_secrets", { newest_key_id: "0".repeat(16), max_entries: 100 }, {
    arranged: HOOK_ARRANGED,
  }),
  call("reencrypt_webhook_secrets", { secrets: [] }),
  call("find_lost_events", {
    recorded: Array.from(
      { length: 1000 },
      (_, index) => ({ event_id: `evt_${index}00`, at: "2026-01-31T09:30:00.000Z" }),
    ),
  }, { bounds: { rows: 3_000, pages: 9_000 } }),
  // The same change as register_peer's of a peer, with the same bound.
  call("replace_pubkey", { agent_id: PEER, pubkey: btoa("\x01".repeat(32)), endpoint: null }, {
    bounds: { rows: 200, pages: 400 },
  }),
  call("note_replayed_event", { event_id: "evt_1", recorded_at: "2026-01-31T09:30:00.000Z" }),
  call("find_hashed_names", { name_hash: "00".repeat(32), max_entries: 100 }, {
    bounds: { rows: 2_000, pages: 20_000 },
  }),
  call("create_agent_keys", {
    keys: [{ agent_id: OWNER }, { agent_id: PEER, label: "second" }],
  }),
  call("list_usage", { ...PAGE, after: "" }, { bounds: { rows: 400, pages: 800 } }),
  call("list_usage", { ...PAGE, agent_id: PEER }, { circumstances: "of an agent" }),
  call("list_busiest", PAGE, { bounds: { rows: 400, pages: 800 } }),
  call("list_newest_refusals", PAGE, { bounds: { rows: 400, pages: 800 } }),
  call("list_newest_refusals", { ...PAGE, agent_id: PEER }, { circumstances: "of an agent" }),
  call("list_refusals", PAGE, { bounds: { rows: 400, pages: 800 } }),
  call("list_refusals", { ...PAGE, agent_id: PEER }, { circumstances: "of an agent" }),
  call("find_artifacts_named", { name: "files/1.txt", max_entries: 100 }),
  call("read_artifact", { artifact_id: artifactIdOf(POPULAR) }, {
    bounds: { rows: 2_000, pages: 1_000 },
  }),
  call("find_artifact_of_grant", { grant_id: "grant_x" }),
  call("find_agent_of_key", { key_id: "key_x" }),
  call("find_events", { ...PAGE, until: YESTERDAY }, {
    circumstances: "until a time",
    bounds: { rows: 1_000, pages: 2_000 },
  }),
  call("find_events", PAGE, { bounds: { rows: 1_000, pages: 2_000 } }),
  call("find_events", { ...PAGE, types: "{artifact.opened}", since: YESTERDAY }, {
    circumstances: "since a time",
    bounds: ONE_WALK,
  }),
  call("find_events", { ...PAGE, types: "{artifact.opened}", before: LATER }, {
    circumstances: "before a position",
    bounds: ONE_WALK,
  }),
  call("find_events", { ...PAGE, agent_id: HOARDER, types: "{artifact.opened}", before: LATER }, {
    circumstances: "of an agent, before a position",
    bounds: ONE_WALK,
  }),
  call("find_events", { ...PAGE, agent_id: HOARDER }, {
    circumstances: "of an agent",
    bounds: { rows: 2_000, pages: 3_000 },
  }),
  call("find_events", { ...PAGE, artifact_id: artifactIdOf(POPULAR) }, {
    circumstances: "of an artifact",
  }),
  call("find_events", { ...PAGE, artifact_id: artifactIdOf(POPULAR), after: `${EPOCH}-3.0` }, {
    circumstances: "of an artifact, after a position",
  }),
  call("list_peers", { ...PAGE, after: "peer-5" }, { bounds: A_FEW_EACH }),
  call("list_peers", { ...PAGE, tag: "tag:fleet-1" }, {
    circumstances: "with a tag",
    bounds: A_FEW_EACH,
  }),
  call("list_peers", { ...PAGE, agent_id: HUB.agentId }, {
    circumstances: "around an agent with a thousand neighbours",
    bounds: { rows: 30_000, pages: 40_000 },
  }),
  call("list_mesh_rules", { ...PAGE, after: "peer-5 peer-6 tcp 443" }, {
    bounds: { rows: 500, pages: 1_000 },
  }),
  call("list_mesh_rules", { ...PAGE, agent_id: HUB.agentId, after: "peer-5 hub tcp 2" }, {
    circumstances: "of an agent with very many",
    bounds: { rows: 800, pages: 1_500 },
  }),
  call("list_paths", { ...PAGE, after: "peer-5" }, { bounds: A_FEW_EACH }),
  call("list_paths", { ...PAGE, agent_id: HUB.agentId }, {
    circumstances: "of an agent with a thousand neighbours",
    bounds: { rows: 30_000, pages: 60_000 },
  }),
  call("read_mesh_pair", { from_agent: "peer-5", to_agent: HUB.agentId, port: 443 }),
  call("read_mesh_network", {}),
  // The network that the mesh has. Another one would be refused by 55000.
  call("set_mesh_network", { ipv4_network: "10.0.0.0/8" }),
  call("check_mesh", { ...PAGE, after: "peer-5" }, { bounds: A_FEW_EACH }),
  call("plan_policy", { policy: POLICY }, { bounds: { rows: 2_000, pages: 4_000 } }),
  call("apply_policy", { policy: POLICY, expect: "" }, { refused: true, bounds: A_FEW_EACH }),
  call("read_policy", {}),
  // A page of 100, and ten look-ups for each grant.
  call("list_all_grants", PAGE, { bounds: { rows: 2_000, pages: 4_000 } }),
  call("list_all_grants", { ...PAGE, to_agent: GRANTEE }, {
    circumstances: "to an agent beside those that ended",
    bounds: { rows: 200, pages: 500 },
  }),
  call("list_all_grants", { ...PAGE, from_agent: HOARDER }, {
    circumstances: "of an agent beside those that ended",
    bounds: { rows: 2_000, pages: 4_000 },
  }),
  call("list_all_grants", { ...PAGE, artifact_id: artifactIdOf(POPULAR) }, {
    circumstances: "of an artifact beside those that ended",
  }),
  call("list_agents", { ...PAGE, after: RENAMER }, {
    circumstances: "in the middle",
    bounds: A_FEW_EACH,
  }),
];
