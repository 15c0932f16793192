import type { PeerRow, RuleRow } from "../reads/rows.ts";
import { countPaths, type KnownPaths, type PathCounts } from "./path_counts.ts";
import { groupBy } from "../reads/collections.ts";

/** An agent's state, at a glance. */
export type State = "online" | "lags" | "offline" | "without peer";

/** One agent, or several that are drawn as one. */
export interface GraphNode {
  /** In byte order. */
  readonly agentIds: readonly string[];
  readonly state: State;
}

/** Which agents may reach which others, at which ports. */
export interface GraphEdge {
  readonly from: GraphNode;
  readonly to: GraphNode;
  /** Such as `tcp 443`. */
  readonly ports: readonly string[];
  /** The paths between these agents. */
  readonly paths: PathCounts;
}

export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  /** Whether one node may stand for agents that have different rules. */
  readonly isCoarse: boolean;
}

/** More edges than this nobody can follow. */
const MOST_EDGES = 100;
/** How many edges Mermaid draws with its default configuration. */
export const MOST_DRAWN_EDGES = 500;

/**
 * The mesh as a picture. Agents become one node if they are in the same state, may reach the same
 * others at the same ports, and may be reached by the same. If that leaves too many edges, agents
 * in the same state become one node if their names begin alike: `ci-1` and `ci-2`.
 */
export function graphOf(
  peers: readonly PeerRow[],
  rules: readonly RuleRow[],
  paths: KnownPaths = new Map(),
): Graph {
  const active = rules.filter((rule) => rule.active);
  const states = statesOf(peers, active);
  const connections = connectionsOf(active);
  const fine = grouped(
    { states, rules: active, paths },
    (agentId) => (connections.get(agentId) ?? []).join("\n"),
  );
  if (fine.edges.length <= MOST_EDGES) return { ...fine, isCoarse: false };
  return { ...grouped({ states, rules: active, paths }, stemOf), isCoarse: true };
}

function statesOf(peers: readonly PeerRow[], rules: readonly RuleRow[]): Map<string, State> {
  const named = rules.flatMap(({ from_agent, to_agent }) => [from_agent, to_agent]);
  const states = new Map<string, State>(named.map((agentId) => [agentId, "without peer"]));
  for (const { agent_id, online, lags } of peers) {
    states.set(agent_id, !online ? "offline" : lags === true ? "lags" : "online");
  }
  return new Map(Array.from(states).sort(([one], [other]) => one < other ? -1 : 1));
}

/** What each agent may reach and be reached by, as sorted texts that can be compared. */
function connectionsOf(rules: readonly RuleRow[]): Map<string, string[]> {
  const connections = new Map<string, string[]>();
  for (const rule of rules) {
    const { from_agent, to_agent } = rule;
    add(connections, from_agent, `to ${to_agent} ${portOf(rule)}`);
    add(connections, to_agent, `from ${from_agent} ${portOf(rule)}`);
  }
  for (const of of connections.values()) of.sort();
  return connections;
}

function grouped(
  { states, rules, paths }: {
    readonly states: ReadonlyMap<string, State>;
    readonly rules: readonly RuleRow[];
    readonly paths: KnownPaths;
  },
  likenessOf: (agentId: string) => string,
): Omit<Graph, "isCoarse"> {
  const members = new Map<string, string[]>();
  const keyOf = (agentId: string) => `${states.get(agentId)}\n${likenessOf(agentId)}`;
  for (const agentId of states.keys()) add(members, keyOf(agentId), agentId);
  const nodes = new Map(
    Array.from(members, ([key, agentIds]): [string, GraphNode] => [
      key,
      { agentIds, state: states.get(agentIds[0]!)! },
    ]),
  );
  const edges = groupBy(
    rules,
    ({ from_agent, to_agent }) => JSON.stringify([keyOf(from_agent), keyOf(to_agent)]),
  );
  return {
    nodes: Array.from(nodes.values()),
    edges: Array.from(edges.values(), (ofEdge) => ({
      from: nodes.get(keyOf(ofEdge[0]!.from_agent))!,
      to: nodes.get(keyOf(ofEdge[0]!.to_agent))!,
      ports: Array.from(new Set(ofEdge.map(portOf))),
      paths: countPaths(ofEdge, paths),
    })),
  };
}

/** The beginning of a name: everything before its last separator. */
export function stemOf(agentId: string): string {
  return agentId.replace(/[-._:@][^-._:@]*$/, "");
}

function portOf({ proto, port }: RuleRow): string {
  return `${proto} ${port}`;
}

function add(lists: Map<string, string[]>, key: string, entry: string): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [entry]);
  else list.push(entry);
}
