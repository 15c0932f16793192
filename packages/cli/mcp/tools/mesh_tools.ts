import * as z from "zod";
import type { Netmap } from "../../../agent-files/contract/types.ts";
import { defineTool, type Tool } from "./tool.ts";

type AccessRule = Netmap["acls"][number];

const rule = z.object({
  from_agent: z.string().min(1),
  to_agent: z.string().min(1),
  port: z.number().int(),
  proto: z.enum(["tcp", "udp"]).default("tcp"),
});

export const MESH_TOOLS: readonly Tool[] = [
  defineTool({
    name: "mesh_netmap",
    answers: "agent_id",
    description:
      "The agents that you share a rule with, their ports, and the requests that wait for " +
      "agreement. `you_reach` and `reaches_you` are the ports of the active rules.",
    effect: "reads",
    input: z.object({
      with_agent: z.string().min(1).optional()
        .meta({ description: "Only this neighbour." }),
      limit: z.number().int().min(1).max(1000).default(100),
      cursor: z.string().min(1).optional()
        .meta({ description: "The `next_cursor` of an answer." }),
    }),
    async call({ with_agent, limit, cursor }, { mesh, signal }) {
      const netmap = await mesh.netmap({ signal });
      return with_agent === undefined
        ? pageOf(netmap, { limit, after: cursor ?? "" })
        : neighbourIn(netmap, with_agent);
    },
  }),
  defineTool({
    name: "mesh_allow",
    answers: "from_agent",
    description:
      "Agree that from_agent may reach a port of to_agent. You must be one of the two. " +
      "The rule is active once both have agreed.",
    effect: "sets",
    input: rule,
    call: (given, { mesh, signal }) => mesh.allow(given, { signal }),
  }),
  defineTool({
    name: "mesh_revoke",
    answers: "revoked",
    description: "End a rule for both agents.",
    effect: "replaces",
    input: rule,
    call: (given, { mesh, signal }) => mesh.revoke(given, { signal }),
  }),
];

function neighbourIn(
  { agent_id, config_version, peers, acls, acl_requests }: Netmap,
  neighbour: string,
): object {
  const names = ({ from_agent, to_agent }: AccessRule) =>
    [from_agent, to_agent].includes(neighbour);
  return {
    agent_id,
    config_version,
    peer: peers.find((peer) => peer.agent_id === neighbour) ?? null,
    acls: acls.filter(names),
    acl_requests: acl_requests.filter(names),
  };
}

/** A short row for each neighbour: a conversation has no room for a large map. */
export function pageOf(
  { agent_id, config_version, peers, acls, acl_requests }: Netmap,
  { limit, after }: { readonly limit: number; readonly after: string },
): object {
  const self = peers.find(({ self }) => self);
  const byId = new Map(peers.filter(({ self }) => !self).map((peer) => [peer.agent_id, peer]));
  const reached = rulesBy("to_agent", acls.filter(({ from_agent }) => from_agent === agent_id));
  const reaching = rulesBy("from_agent", acls.filter(({ to_agent }) => to_agent === agent_id));
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

/** By the agent on one side. Node 20 has no Map.groupBy. */
function rulesBy(
  side: "from_agent" | "to_agent",
  rules: readonly AccessRule[],
): ReadonlyMap<string, readonly AccessRule[]> {
  const grouped = new Map<string, AccessRule[]>();
  for (const rule of rules) {
    const its = grouped.get(rule[side]) ?? [];
    grouped.set(rule[side], its);
    its.push(rule);
  }
  return grouped;
}

function rowOf(peer: Netmap["peers"][number] | undefined): object {
  if (peer === undefined) return { online: false };
  const { name, addresses: [address], online, path } = peer;
  const report = path?.reported_by_self;
  return { name, address, online, ...(report && { via: report.works ? report.via : "none" }) };
}

function ports(name: string, rules: readonly AccessRule[] | undefined): object {
  return rules === undefined ? {} : { [name]: rules.map(({ proto, port }) => `${proto}/${port}`) };
}
