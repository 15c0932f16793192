import {
  as,
  call,
  HUB,
  NEIGHBOUR,
  PEER,
  type PlannedCall,
  STRANGER,
} from "../../../database/plans/planned_call.ts";

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

export const HEARTBEAT_PLANS: readonly PlannedCall[] = [
  call("record_heartbeat", { ...MESH, config_version: 1 }),
  call("record_heartbeat", { ...MESH, config_version: 1, wait_seconds: 140 }, {
    circumstances: "that waits",
  }),
  call("record_heartbeat", {
    ...MESH,
    config_version: 1,
    problem: { code: "network_taken", network: "172.17.0.0/16" },
  }, {
    circumstances: "with a problem",
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
  call("record_heartbeat", {
    ...MESH,
    config_version: 1,
    refused: Array.from({ length: 16 }, (_, index) => ({
      agent_id: index % 2 === 0 ? NEIGHBOUR : STRANGER,
      port: index + 1,
      proto: "tcp",
      attempts: 3,
    })),
    refused_per_hour: 1000,
  }, {
    circumstances: "with 16 refused connections",
  }),
  call("read_heartbeat", MESH),
];
