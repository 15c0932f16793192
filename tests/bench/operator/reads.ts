/** The first page of each of the operator's commands that ask PostgREST. */
import { artifactIdOf, HOARDER, OWNER, peerIdOf } from "../fill/cast.ts";
import type { BenchOperation, FilledStack } from "../parts/operations.ts";

const PAGE = { max_entries: 100 };
/** Skips the agents that very many peers may reach, because only the large stack has them. */
const PEERS = { ...PAGE, after: "peer-" };

/** A peer that has none of those agents for a neighbour. */
function peerInTheMidst({ size: { peers } }: FilledStack): string {
  return peerIdOf(Math.floor(peers / 2));
}

function reads(
  name: string,
  rpc: string,
  body: Record<string, unknown> | ((filled: FilledStack) => Record<string, unknown>),
): BenchOperation {
  return {
    name: `operator: ${name}`,
    functionName: "agent-mesh",
    path: `/rest/v1/rpc/agent_api_${rpc}`,
    floor: null,
    calls: (filled, count) => {
      const call = { agent: null, body: typeof body === "function" ? body(filled) : body };
      return Promise.resolve(Array(count).fill(call));
    },
  };
}

export const OPERATOR_READS: readonly BenchOperation[] = [
  reads("agent list", "list_agents", PAGE),
  reads("agent show", "read_agent", { agent_id: OWNER }),
  reads("usage", "list_usage", PAGE),
  reads("events", "find_events", PAGE),
  reads("events of an agent", "find_events", { ...PAGE, agent_id: HOARDER }),
  reads("events of an artifact", "find_events", { ...PAGE, artifact_id: artifactIdOf(7) }),
  reads("events since yesterday", "find_events", {
    ...PAGE,
    since: new Date(Date.now() - 86_400_000).toISOString(),
  }),
  reads("events --refusals", "list_refusals", PAGE),
  reads("mesh", "list_peers", PEERS),
  reads("mesh of an agent", "list_peers", (filled) => ({
    ...PAGE,
    agent_id: peerInTheMidst(filled),
  })),
  reads("mesh --rules", "list_mesh_rules", PAGE),
  reads("mesh check", "check_mesh", PEERS),
  reads("grants", "list_all_grants", PAGE),
  reads("grants of an agent", "list_all_grants", { ...PAGE, from_agent: OWNER }),
];
