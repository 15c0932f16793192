/** Times of maps and configurations of agents with very many peers, in milliseconds. */
import { load } from "../load/load.ts";
import { median } from "../load/timing.ts";
import type { Hub } from "../fill/cast.ts";
import type { FilledStack } from "./operations.ts";

/** One hub has 5,000 peers with one rule each; the other has 1,000 peers with five rules each. */
export const HUBS: readonly [Hub, Hub] = [
  { agentId: "hub-5000", peers: 5_000, rulesPerPeer: 1 },
  { agentId: "hub-1000", peers: 1_000, rulesPerPeer: 5 },
];

export interface LargeMaps {
  readonly netmap: number;
  readonly firstConfiguration: number;
  readonly configuration: number;
}

export async function measureLargeMaps(filled: FilledStack, turns: number): Promise<LargeMaps> {
  const [wide, ruled] = HUBS;
  const netmap: number[] = [];
  const firstConfiguration: number[] = [];
  const configuration: number[] = [];
  await ask(filled, "/agent-mesh/netmap", wide.agentId);
  for (let turn = 0; turn < turns; turn++) {
    netmap.push(await ask(filled, "/agent-mesh/netmap", wide.agentId));
    await forgetPsks(filled, ruled.agentId);
    firstConfiguration.push(await ask(filled, "/agent-mesh/wg_config", ruled.agentId));
    configuration.push(await ask(filled, "/agent-mesh/wg_config", ruled.agentId));
  }
  return {
    netmap: median(netmap),
    firstConfiguration: median(firstConfiguration),
    configuration: median(configuration),
  };
}

async function ask({ stack }: FilledStack, path: string, agent_id: string): Promise<number> {
  const request = { path, headers: { apikey: stack.secretKey }, body: { agent_id } };
  return (await load(stack.url, [request], 1)).p50;
}

/** Deletes all PSKs of the agent, as if none had ever been made. */
async function forgetPsks({ stack }: FilledStack, agentId: string): Promise<void> {
  await stack.sql`
    update mesh.pairs set encrypted_psk = null, made_at = null
    where low_agent = ${agentId} or high_agent = ${agentId}`;
  await stack.sql`vacuum analyze mesh.pairs`;
}
