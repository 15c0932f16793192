import * as z from "zod";
import { agentId, limit } from "../../_shared/request/fields.ts";
import { defineTool } from "../../_shared/operations/mcp/definition.ts";

interface Rule {
  readonly from_agent: string;
  readonly to_agent: string;
  readonly port: number;
  readonly proto: string;
}

interface Peer {
  readonly agent_id: string;
  readonly name: string;
  readonly addresses: readonly string[];
  readonly online: boolean;
  readonly self: boolean;
  readonly path: {
    readonly reported_by_self: { readonly works: boolean; readonly via: string } | null;
  } | null;
}

interface Netmap {
  readonly agent_id: string;
  readonly config_version: number;
  readonly peers: readonly Peer[];
  readonly acls: readonly Rule[];
  readonly acl_requests: readonly Rule[];
}

const additions = z.object({
  with_agent: agentId.optional().meta({
    description: "Show everything about this neighbour only.",
  }),
  limit,
  cursor: agentId.optional().meta({ description: "The previous page's `next_cursor`." }),
});

/** /netmap, with a short row for each neighbour: a conversation has no room for a large map. */
export const netmapTool = defineTool({
  name: "netmap",
  answers: "agent_id",
  summary: "Show what an agent sees of the mesh: its neighbours, their ports, and requests.",
  description: "`you_reach` and `reaches_you` are the ports of the active rules.",
  additions,
  async call({ run }, { given, added: { with_agent, limit, cursor } }) {
    const netmap = await run<Netmap>("/netmap", given);
    return {
      body: with_agent === undefined
        ? pageOf(netmap, { limit, after: cursor ?? "" })
        : neighbourIn(netmap, with_agent),
    };
  },
});

function neighbourIn(
  { agent_id, config_version, peers, acls, acl_requests }: Netmap,
  neighbour: string,
): object {
  const names = ({ from_agent, to_agent }: Rule) => [from_agent, to_agent].includes(neighbour);
  return {
    agent_id,
    config_version,
    peer: peers.find((peer) => peer.agent_id === neighbour) ?? null,
    acls: acls.filter(names),
    acl_requests: acl_requests.filter(names),
  };
}

function pageOf(
  { agent_id, config_version, peers, acls, acl_requests }: Netmap,
  { limit, after }: { readonly limit: number; readonly after: string },
): object {
  const self = peers.find(({ self }) => self);
  const byId = new Map(peers.filter(({ self }) => !self).map((peer) => [peer.agent_id, peer]));
  const reached = Map.groupBy(
    acls.filter(({ from_agent }) => from_agent === agent_id),
    (rule) => rule.to_agent,
  );
  const reaching = Map.groupBy(
    acls.filter(({ to_agent }) => to_agent === agent_id),
    (rule) => rule.from_agent,
  );
  // An agent that has a rule but no peer is a neighbour, too.
  const neighbours = [...new Set([...byId.keys(), ...reached.keys(), ...reaching.keys()])].sort()
    .filter((neighbour) => neighbour > after);
  const shown = neighbours.slice(0, limit);
  return {
    agent_id,
    config_version,
    self: self && { name: self.name, addresses: self.addresses, online: self.online },
    peers: shown.map((neighbour) => ({
      agent_id: neighbour,
      ...rowOf(byId.get(neighbour)),
      ...ports("you_reach", reached.get(neighbour)),
      ...ports("reaches_you", reaching.get(neighbour)),
    })),
    acl_requests: acl_requests.slice(0, limit),
    ...(acl_requests.length > limit && { requests_left_out: acl_requests.length - limit }),
    next_cursor: neighbours.length > limit ? shown.at(-1) : null,
  };
}

function rowOf(peer: Peer | undefined): object {
  if (peer === undefined) return { online: false };
  const { name, addresses: [address], online, path } = peer;
  const report = path?.reported_by_self;
  return { name, address, online, ...(report && { via: report.works ? report.via : "none" }) };
}

function ports(name: string, rules: readonly Rule[] | undefined): object {
  return rules === undefined ? {} : { [name]: rules.map(({ proto, port }) => `${proto}/${port}`) };
}
