/** Calls of each SQL function of the service, on a filled database, and what they may read. */
import { grantTokenOf, HOARDER, LIMITED, OWNER, sha256 } from "../../bench/fill/cast.ts";
import { ALL_CARDS } from "../../operations/cards.ts";
import { MAINTENANCE_CALLS } from "./maintenance_calls.ts";
import { OPERATOR_CALLS } from "./operator_calls.ts";
import { as, asUser, call, NEIGHBOUR, OPERATOR, PEER, type PlannedCall } from "./planned_call.ts";

/** Every SQL function of the service, except those that the test names. */
export const CALLS: readonly PlannedCall[] = [
  ...Array.from(ALL_CARDS, ({ plans }) => plans).flat(),
  call("check_health", {}),
  call("check_bucket", {}),
  // Reads rows of the catalogue, and one row per migration.
  call("inspect_deployment", { operations: "{agent_api_check_health,agent_api_list_inbox}" }, {
    bounds: { rows: 40_000, pages: 20_000 },
  }),
  call("describe_schema", {}),
  call("describe_caller", { caller: as(HOARDER) }),
  call("describe_caller", { caller: asUser(HOARDER) }, { circumstances: "by a user" }),
  call("create_agent_key", { agent_id: OWNER }),
  call("revoke_agent_key", { key_id: "key_unknown" }),
  call("revoke_agent_keys", { agent_id: OWNER }),
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
  call("check_grant_token", { token_hash: sha256(grantTokenOf(LIMITED)) }),
  call("read_mesh_metrics", { caller: OPERATOR, online_seconds: 90 }, {
    bounds: { rows: 10_000, pages: 20_000 },
  }),
  call("list_psks_to_reencrypt", { newest_key_id: "0".repeat(16), max_entries: 1000 }),
  call("reencrypt_psks", {
    psks: [{
      low_agent: PEER,
      high_agent: NEIGHBOUR,
      encrypted_psk: "v1.0000000000000000.AAAA",
      reencrypted_psk: "v1.0000000000000000.AAAA",
    }],
  }),
  ...MAINTENANCE_CALLS,
  ...OPERATOR_CALLS,
];
