import {
  as,
  call,
  HUB,
  NEIGHBOUR,
  PEER,
  type PlannedCall,
} from "../../../database/plans/planned_call.ts";

function psk(agentId: string) {
  return { agent_id: agentId, psk_version: 1, encrypted_psk: "v1.0000000000000000.AAAA" };
}

const MESH = { caller: as(PEER), agent_id: PEER };

export const WG_CONFIG_PLANS: readonly PlannedCall[] = [
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
];
