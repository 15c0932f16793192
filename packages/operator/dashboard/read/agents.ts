import type { AgentRow, PeerRow } from "../../reads/rows.ts";
import { readMeshParameters } from "../../reads/settings.ts";
import { type Kind, type Listed, listed, type Question, readNamed } from "./listing.ts";

/** How agents can be filtered and sorted. */
export const AGENTS: Kind<AgentRow> = {
  filters: {
    peer: { label: "with a peer", admits: ({ has_peer }) => has_peer },
    keyless: { label: "without a live agent key", admits: ({ live_keys }) => live_keys === 0 },
    expired: { label: "with an expired agent key", admits: ({ expired_keys }) => expired_keys > 0 },
    unused: { label: "whose agent keys were never used", admits: hasNeverUsedItsKeys },
    pending: { label: "with uploads not committed", admits: ({ pending }) => pending > 0 },
  },
  orders: {
    agent: ({ agent_id }) => agent_id,
    keys: ({ live_keys }) => live_keys,
    used: ({ last_used_at }) => last_used_at,
    artifacts: ({ artifacts }) => artifacts,
    bytes: ({ bytes }) => bytes,
    seen: ({ last_seen }) => last_seen,
  },
};

/** How peers can be filtered and sorted. */
export const PEERS: Kind<PeerRow> = {
  filters: {
    online: { label: "online", admits: ({ online }) => online },
    offline: { label: "offline", admits: ({ online }) => !online },
    lags: { label: "with an old configuration", admits: ({ lags }) => lags === true },
    never: { label: "never seen", admits: ({ last_seen }) => last_seen === null },
    requests: { label: "with requests that wait", admits: ({ requests }) => requests > 0 },
  },
  orders: {
    agent: ({ agent_id }) => agent_id,
    seen: ({ last_seen }) => last_seen,
    rules: ({ active_rules }) => active_rules,
    requests: ({ requests }) => requests,
    behind: ({ config_version, config_version_applied }) =>
      config_version_applied === null ? null : config_version - config_version_applied,
  },
};

/** A page of agents. Throws CommandError. */
export async function readAgents(question: Question): Promise<Listed<AgentRow>> {
  return listed(await readNamed<AgentRow>("list_agents", question.prefix), AGENTS, question);
}

/** A page of peers. Throws CommandError. */
export async function readPeers(question: Question): Promise<Listed<PeerRow>> {
  const parameters = { ...await readMeshParameters() };
  const peers = await readNamed<PeerRow>("list_peers", question.prefix, { parameters });
  return listed(peers, PEERS, question);
}

function hasNeverUsedItsKeys({ live_keys, last_used_at }: AgentRow): boolean {
  return live_keys > 0 && last_used_at === null;
}
