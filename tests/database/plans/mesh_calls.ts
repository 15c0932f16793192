/** One call of each SQL function of the mesh, on a filled database, and what it may read. */
import { OWNER } from "../../bench/fill/cast.ts";
import {
  as,
  ASKER,
  call,
  HUB,
  NEIGHBOUR,
  OPERATOR,
  PEER,
  type PlannedCall,
  STRANGER,
} from "./planned_call.ts";

const rule = { from_agent: PEER, to_agent: NEIGHBOUR, port: 443, proto: "tcp" };
const registeredPeer = {
  pubkey: `${"B".repeat(42)}A=`,
  endpoint: "198.51.100.2:51820",
  endpoint_ip: "198.51.100.2",
  listen_port: null,
  online_seconds: 90,
};

function psk(agentId: string) {
  return { agent_id: agentId, psk_version: 1, encrypted_psk: "v1.0000000000000000.AAAA" };
}

function path(agent_id: string) {
  return {
    agent_id,
    via: "direct",
    endpoint: "203.0.113.7:4242",
    endpoint_ip: "203.0.113.7",
    handshake_age_seconds: 30,
  };
}

const NEIGHBOURS = [path(NEIGHBOUR), path(STRANGER)];

const HUB_PATHS = Array.from({ length: 64 }, (_, index) => path(`peer-${index}`));

const MESH = { caller: as(PEER), agent_id: PEER };

export const MESH_CALLS: readonly PlannedCall[] = [
  call("record_heartbeat", { ...MESH, config_version: 1 }),
  call("record_heartbeat", { ...MESH, config_version: 1, wait_seconds: 140 }, {
    circumstances: "that waits",
  }),
  call("record_heartbeat", { ...MESH, config_version: 1, paths: NEIGHBOURS }, {
    circumstances: "with the paths of all neighbours",
  }),
  call("record_heartbeat", {
    caller: as(HUB.agentId),
    agent_id: HUB.agentId,
    config_version: 1,
    paths: HUB_PATHS,
  }, {
    circumstances: "with 64 paths of a thousand neighbours",
    bounds: { rows: 1000, pages: 3000 },
  }),
  call("read_heartbeat", MESH),
  call("read_relay_name", MESH),
  call("read_relay_name", { caller: OPERATOR, agent_id: null }, {
    circumstances: "of the operator",
  }),
  // Reads the neighbours twice: before taking the locks, and after.
  call("register_peer", { ...MESH, ...registeredPeer }, { bounds: { rows: 200, pages: 400 } }),
  call("register_peer", { caller: as(OWNER), agent_id: OWNER, ...registeredPeer }, {
    circumstances: "of a new peer",
  }),
  call("remove_peer", MESH, { bounds: { rows: 300, pages: 1200 } }),
  call("put_rule", { caller: OPERATOR, ...rule, port: 80, max_rules: 10_000, max_requests: 1000 }),
  call("put_rule", {
    caller: as(PEER),
    ...rule,
    to_agent: STRANGER,
    max_rules: 10_000,
    max_requests: 1000,
  }, { circumstances: "as a request" }),
  call("revoke_rule", { caller: as(PEER), ...rule }),
  call("revoke_rule", { caller: as(PEER), ...rule, from_agent: ASKER, to_agent: PEER }, {
    circumstances: "that declines a request",
  }),
  call("put_rule", { caller: as(PEER), ...rule, to_agent: ASKER, port: 2, proto: "udp" }, {
    circumstances: "that was declined",
  }),
  call("read_netmap", { ...MESH, online_seconds: 90 }, { bounds: { rows: 200, pages: 500 } }),
  call("read_netmap", { caller: as(HUB.agentId), agent_id: HUB.agentId, online_seconds: 90 }, {
    circumstances: "of a thousand peers and five thousand rules",
    bounds: { rows: 30_000, pages: 40_000 },
  }),
  call("read_wg_config", { ...MESH, online_seconds: null }, { bounds: { rows: 200, pages: 500 } }),
  call("read_wg_config", {
    caller: as(HUB.agentId),
    agent_id: HUB.agentId,
    online_seconds: null,
  }, {
    circumstances: "of a thousand peers and five thousand rules",
    bounds: { rows: 30_000, pages: 40_000 },
  }),
  // Also reads, for each peer, where that peer's neighbours see it.
  call("read_wg_config", MESH, {
    circumstances: "with what neighbours see",
    bounds: { rows: 400, pages: 1000 },
  }),
  call("read_wg_config", { caller: as(HUB.agentId), agent_id: HUB.agentId }, {
    circumstances: "of a thousand peers and five thousand rules, with what neighbours see",
    bounds: { rows: 45_000, pages: 80_000 },
  }),
  call("store_psks", { ...MESH, psks: [psk(NEIGHBOUR)] }, { bounds: { rows: 450, pages: 1000 } }),
  call("read_mesh_metrics", { caller: OPERATOR, online_seconds: 90 }, {
    bounds: { rows: 10_000, pages: 20_000 },
  }),
  call("rotate_psk", { caller: as(PEER), a: PEER, b: NEIGHBOUR }),
  call("list_psks_to_reencrypt", { newest_key_id: "0".repeat(16), max_entries: 1000 }),
  call("reencrypt_psks", {
    psks: [{
      low_agent: PEER,
      high_agent: NEIGHBOUR,
      encrypted_psk: "v1.0000000000000000.AAAA",
      reencrypted_psk: "v1.0000000000000000.AAAA",
    }],
  }),
];
