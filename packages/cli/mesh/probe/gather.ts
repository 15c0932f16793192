import type { RequestOptions } from "node:http";
import type { AgentMesh } from "../../../agent-files/agent_mesh.ts";
import type { Netmap } from "../../../agent-files/contract/types.ts";
import { AgentError } from "../../../agent-files/errors/agent_error.ts";
import { type HostProblem, reasonOf } from "../../../agent-peer/paths/describe_path.ts";
import { labelOf } from "../../../agent-peer/mesh/service/names.ts";
import { hasRelay } from "../netmap.ts";
import { connectByProxy } from "./by_proxy.ts";
import type { ProbeFacts } from "./facts.ts";
import { tunnelFacts } from "./local_tunnel.ts";

export interface Target {
  /** The peer's name, or its agent's identifier. */
  readonly peer: string;
  readonly port: number;
  readonly proto: "tcp" | "udp";
}

interface Ways {
  readonly interfaceName: string;
  /** The proxy of `mesh join`; null: look at the tunnel of this host. */
  readonly proxy: RequestOptions | null;
}

type Peer = Netmap["peers"][number];

/** Throws AgentError if the service cannot be asked. */
export async function gather(
  mesh: AgentMesh,
  { target, ways, ownId, clockSeconds }: {
    readonly target: Target;
    readonly ways: Ways;
    readonly ownId: string;
    readonly clockSeconds: number | null;
  },
): Promise<ProbeFacts> {
  const { port, proto } = target;
  const netmap = await netmapOf(mesh);
  const found = netmap?.peers.find((each) => !each.self && isNamed(each, target.peer));
  const own = netmap?.peers.find(({ self }) => self);
  const facts: ProbeFacts = {
    own: ownId,
    peer: found?.agent_id ?? target.peer,
    port,
    proto,
    clockSeconds,
    isRegistered: netmap !== null,
    rule: null,
    otherPorts: [],
    isOnline: found?.online ?? null,
    pathReason: null,
    tunnel: null,
    proxy: null,
    problems: { own: problemOf(own), peer: problemOf(found) },
    reports: { own: null, peer: null },
  };
  if (netmap === null) return facts;
  const isBetween = (rule: { from_agent: string; to_agent: string }) =>
    rule.from_agent === ownId && rule.to_agent === facts.peer;
  const isAsked = (rule: { port: number; proto: string }) =>
    rule.port === port && rule.proto === proto;
  const active = netmap.acls.filter(isBetween);
  const request = netmap.acl_requests.find((rule) => isBetween(rule) && isAsked(rule));
  if (!active.some(isAsked)) {
    return {
      ...facts,
      rule: request === undefined ? null : { waitingFor: request.waiting_for },
      otherPorts: active.map(({ port, proto }) => `${port}/${proto}`),
    };
  }
  return { ...facts, rule: "active", ...await pathFacts(mesh, { netmap, facts, ways }) };
}

/** What a host that is online says of itself. An older deployment returns no `problem`. */
function problemOf(peer: Peer | undefined): HostProblem | null {
  return peer?.online ? peer.problem ?? null : null;
}

async function pathFacts(
  mesh: AgentMesh,
  { netmap, facts, ways }: {
    readonly netmap: Netmap;
    readonly facts: ProbeFacts;
    readonly ways: Ways;
  },
): Promise<Pick<ProbeFacts, "pathReason" | "tunnel" | "proxy" | "reports">> {
  const self = netmap.peers.find((each) => each.self);
  const peer = netmap.peers.find(({ agent_id }) => agent_id === facts.peer);
  if (self === undefined || peer === undefined) {
    return { pathReason: null, tunnel: null, proxy: null, reports: { own: null, peer: null } };
  }
  const { reported_by_self = null, reported_by_peer = null } = peer.path ?? {};
  const { interfaceName, proxy } = ways;
  const own = { registeredKey: self.pubkey, interfaceName };
  const canAsk = proxy !== null && facts.proto === "tcp";
  return {
    pathReason: reasonOf([self, peer], await hasRelay(mesh)),
    tunnel: proxy === null ? await ownTunnel(mesh, facts, own) : null,
    proxy: canAsk ? await connectByProxy(proxy, `${peer.name}:${facts.port}`) : null,
    reports: {
      own: reported_by_self?.works ?? null,
      peer: reported_by_peer?.works ?? null,
    },
  };
}

async function ownTunnel(
  mesh: AgentMesh,
  { peer, port, proto }: ProbeFacts,
  { interfaceName, registeredKey }: {
    readonly interfaceName: string;
    readonly registeredKey: string;
  },
): Promise<ProbeFacts["tunnel"]> {
  const served = (await mesh.jsonConfiguration()).peers.find(({ agent_id }) => agent_id === peer);
  if (served === undefined) return null;
  return await tunnelFacts(interfaceName, { registeredKey, peer: served, port, proto });
}

/** Null if the agent is not in the mesh. */
async function netmapOf(mesh: AgentMesh): Promise<Netmap | null> {
  try {
    return await mesh.netmap();
  } catch (error) {
    if (error instanceof AgentError && error.code === "peer_not_found") return null;
    throw error;
  }
}

function isNamed({ agent_id, name, addresses }: Peer, text: string): boolean {
  return agent_id === text || name === labelOf(text) || addresses.includes(text);
}
