import { rowsOf } from "../../pages.ts";
import type { PeerRow, RuleRow } from "../../reads/rows.ts";
import { readMeshParameters } from "../../reads/settings.ts";

/** More nobody can read in one picture. */
const MOST_PEERS = 500;
const MOST_RULES = 5000;

/** What the picture is drawn from. */
export interface MeshPicture {
  readonly nodes: readonly { readonly agent_id: string; readonly state: NodeState }[];
  /** One per pair and direction. */
  readonly edges: readonly {
    readonly from_agent: string;
    readonly to_agent: string;
    /** Such as `tcp 443, udp 53`. */
    readonly ports: string;
  }[];
  /** False: there is more than a picture can show; that of one agent has all of its own. */
  readonly complete: boolean;
}

type NodeState = "online" | "lags" | "offline" | "never" | "absent";

/** The peers and the active rules: all, or those around one agent. Throws CommandError. */
export async function readMesh(agentId: string | null): Promise<MeshPicture> {
  const parameters = { agent_id: agentId, ...await readMeshParameters() };
  const [peers, rules] = await Promise.all([
    Array.fromAsync(rowsOf<PeerRow>("list_peers", {
      parameters,
      limit: MOST_PEERS + 1,
    })),
    Array.fromAsync(rowsOf<RuleRow>("list_mesh_rules", {
      parameters: { agent_id: agentId },
      limit: MOST_RULES + 1,
    })),
  ]);
  if (peers.length > MOST_PEERS || rules.length > MOST_RULES) {
    return { nodes: [], edges: [], complete: false };
  }
  const active = rules.filter((rule) => rule.active);
  const states = new Map<string, NodeState>(
    active.flatMap(({ from_agent, to_agent }) => [[from_agent, "absent"], [to_agent, "absent"]]),
  );
  for (const peer of peers) states.set(peer.agent_id, stateOf(peer));
  return {
    nodes: Array.from(states, ([agent_id, state]) => ({ agent_id, state })),
    edges: edgesOf(active),
    complete: true,
  };
}

function stateOf({ online, lags, last_seen }: PeerRow): NodeState {
  if (last_seen === null) return "never";
  if (!online) return "offline";
  return lags === true ? "lags" : "online";
}

/** Agents' names have no blanks, so that a blank keeps the two of a pair apart. */
function edgesOf(rules: readonly RuleRow[]): MeshPicture["edges"] {
  const byPair = Map.groupBy(rules, ({ from_agent, to_agent }) => `${from_agent} ${to_agent}`);
  return Array.from(byPair.values(), (ofPair) => {
    const [{ from_agent, to_agent }] = ofPair as [RuleRow];
    return { from_agent, to_agent, ports: portsOf(ofPair) };
  });
}

function portsOf(rules: readonly RuleRow[]): string {
  const byProtocol = Map.groupBy(rules, ({ proto }) => proto);
  return Array.from(
    byProtocol,
    ([proto, ofProtocol]) => `${proto} ${ofProtocol.map(({ port }) => port).join(", ")}`,
  ).join("; ");
}
