import { rowsOf } from "../../pages.ts";
import { countPaths, type KnownPaths, knownPaths } from "../../picture/path_counts.ts";
import type { Sides } from "../../reads/paths.ts";
import type { PeerRow, RuleRow } from "../../reads/rows.ts";
import { readMeshParameters } from "../../reads/settings.ts";
import { prefixesOf } from "./groups.ts";
import { collect, groupBy } from "../../reads/collections.ts";

/** Reading more would take longer than a picture is worth. */
const MOST_PEERS = 2_000;
const MOST_RULES = 10_000;
/** How many of the ports between two groups are named. */
const PORTS_SHOWN = 4;

/** An agent, or all agents whose names begin with `prefix`. */
export interface PictureNode {
  readonly id: string;
  readonly prefix: string | null;
  /** How many of the node's agents are in each state. A single agent counts as one. */
  readonly states: Readonly<Partial<Record<NodeState, number>>>;
}

/** What the picture is drawn from. */
export interface MeshPicture {
  readonly nodes: readonly PictureNode[];
  /** One per pair of nodes and direction. */
  readonly edges: readonly {
    readonly from: string;
    readonly to: string;
    /** Such as `tcp 443, udp 53`. */
    readonly ports: string;
    /** What is known about the paths, such as `does not work`; may be empty. */
    readonly path: string;
    /** Whether one of the paths does not work. */
    readonly isBroken: boolean;
  }[];
  readonly peers: number;
  readonly online: number;
  /** The paths between peers, and how many of them work. */
  readonly paths: number;
  readonly working: number;
  /**
   * False if the whole mesh is too large for one picture. Then look at the picture of one agent.
   */
  readonly complete: boolean;
}

type NodeState = "online" | "lags" | "offline" | "never" | "absent";

export interface Part {
  /** Null: all agents. */
  readonly agentId: string | null;
  /**
   * Agents whose names begin with this are drawn one by one, or in smaller groups if they are too
   * many.
   */
  readonly prefix: string;
}

/** The peers and the active rules: all, or those around one agent. Throws CommandError. */
export async function readMesh({ agentId, prefix }: Part): Promise<MeshPicture> {
  const parameters = { agent_id: agentId, ...await readMeshParameters() };
  const [peers, rules, pairs] = await Promise.all([
    collect(rowsOf<PeerRow>("list_peers", { parameters, limit: MOST_PEERS + 1 })),
    collect(rowsOf<RuleRow>("list_mesh_rules", {
      parameters: { agent_id: agentId },
      limit: MOST_RULES + 1,
    })),
    collect(rowsOf<Sides>("list_paths", { parameters, limit: MOST_RULES + 1 })),
  ]);
  if (peers.length > MOST_PEERS || rules.length > MOST_RULES) {
    return {
      nodes: [],
      edges: [],
      peers: peers.length,
      online: 0,
      paths: 0,
      working: 0,
      complete: false,
    };
  }
  return drawn(
    { peers, rules: rules.filter((rule) => rule.active), paths: knownPaths(pairs) },
    prefix,
  );
}

/** A picture of these peers and active rules, grouped if they are too many. */
export function drawn(
  { peers, rules, paths }: {
    readonly peers: readonly PeerRow[];
    readonly rules: readonly RuleRow[];
    readonly paths: KnownPaths;
  },
  open: string,
): MeshPicture {
  const states = new Map<string, NodeState>(
    rules.flatMap(({ from_agent, to_agent }) => [[from_agent, "absent"], [to_agent, "absent"]]),
  );
  for (const peer of peers) states.set(peer.agent_id, stateOf(peer));
  const prefixes = prefixesOf(Array.from(states.keys()), open);
  // No agent's name has a blank, so a group's id never equals an agent's.
  const idOf = (agentId: string) => {
    const prefix = prefixes.get(agentId);
    return prefix === undefined ? agentId : `${prefix} *`;
  };
  const members = groupBy(states, ([agentId]) => idOf(agentId));
  const all = countPaths(rules, paths);
  return {
    nodes: Array.from(members, ([id, ofNode]) => nodeOf(id, ofNode, prefixes)),
    edges: edgesOf(rules, idOf, paths),
    peers: peers.length,
    online: peers.filter(({ online }) => online).length,
    paths: all.paths,
    working: all.working,
    complete: true,
  };
}

function nodeOf(
  id: string,
  members: readonly (readonly [string, NodeState])[],
  prefixes: ReadonlyMap<string, string>,
): PictureNode {
  const states: Partial<Record<NodeState, number>> = {};
  for (const [, state] of members) states[state] = (states[state] ?? 0) + 1;
  return { id, prefix: prefixes.get(members[0]![0]) ?? null, states };
}

function stateOf({ online, lags, last_seen }: PeerRow): NodeState {
  if (last_seen === null) return "never";
  if (!online) return "offline";
  return lags === true ? "lags" : "online";
}

/** Rules inside of a group are not drawn. */
function edgesOf(
  rules: readonly RuleRow[],
  idOf: (agentId: string) => string,
  paths: KnownPaths,
): MeshPicture["edges"] {
  const byPair = groupBy(
    rules.map((rule) => ({ ...rule, from: idOf(rule.from_agent), to: idOf(rule.to_agent) }))
      .filter(({ from, to }) => from !== to),
    ({ from, to }) => JSON.stringify([from, to]),
  );
  return Array.from(byPair.values(), (ofPair) => {
    const { from, to } = ofPair[0]!;
    const { text, broken } = countPaths(ofPair, paths);
    return { from, to, ports: portsOf(ofPair), path: text, isBroken: broken > 0 };
  });
}

function portsOf(rules: readonly RuleRow[]): string {
  const byProtocol = groupBy(rules, ({ proto }) => proto);
  return Array.from(byProtocol, ([proto, ofProtocol]) => {
    const ports = Array.from(new Set(ofProtocol.map(({ port }) => port)));
    const shown = ports.slice(0, PORTS_SHOWN).join(", ");
    const others = ports.length - PORTS_SHOWN;
    return `${proto} ${shown}${others > 0 ? ` and ${others} more` : ""}`;
  }).join("; ");
}
