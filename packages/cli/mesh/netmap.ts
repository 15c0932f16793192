import type { Netmap } from "../../agent-files/contract/types.ts";
import type { AgentMesh } from "../../agent-files/agent_mesh.ts";
import { AgentError } from "../../agent-files/errors/agent_error.ts";
import {
  describePath,
  type PathDescription,
  type PathSide,
} from "../../agent-peer/paths/describe_path.ts";
import { MESH_DOMAIN } from "../../agent-peer/mesh/service/names.ts";
import { inBytes, plain } from "../../command/terminal/output.ts";
import type { Context } from "../context.ts";
import { defineVerb, type Verb } from "../verb.ts";
import type { FlowTotals } from "./flows/flow_totals.ts";

type Peer = Netmap["peers"][number];

export const status: Verb = defineVerb({
  summary: "Show the peers and rules that the agent can see, and whether it reaches them.",
  example: "agentfiles mesh status\nagentfiles mesh status --flows flows.jsonl",
  options: {
    flows: {
      type: "string",
      value: "FILE",
      help: "also count the connections in the file that mesh join --flows writes",
      completes: "file",
    },
  },
  async run({ values }, context) {
    const flows = values.flows === undefined ? null : await totalsIn(values.flows);
    const mesh = await context.mesh();
    const netmap = await mesh.netmap();
    if (context.output.json) {
      return await context.output.value(flows === null ? netmap : { ...netmap, flows }, String);
    }
    const own = netmap.peers.find(({ self }) => self);
    const describe = (peer: Peer, relayIsSet: boolean | null) =>
      peer.self || own === undefined ? null : pathBetween(own, peer, relayIsSet);
    // Whether a relay is set matters only for a broken path, so ask only then.
    const isBroken = netmap.peers.some((peer) => describe(peer, null)?.state === "broken");
    const relayIsSet = isBroken ? await hasRelay(mesh) : null;
    await context.output.rows(each(netmap.peers), {
      heads: ["AGENT", "ADDRESS", "ONLINE", "LAST SEEN", "ENDPOINT", "PATH"],
      cells: (peer) => [
        peer.self ? `${peer.agent_id} (you)` : peer.agent_id,
        peer.addresses[0] ?? "",
        peer.online ? "yes" : "no",
        peer.last_seen ?? "never",
        peer.endpoint ?? "",
        describe(peer, relayIsSet)?.sentence ?? "",
      ],
    });
    const { config_version, acls, acl_requests } = netmap;
    const rules = acls.map(({ from_agent, to_agent, port, proto }) =>
      `${plain(from_agent)} → ${plain(to_agent)} ${port}/${proto}`
    );
    await context.output.value(rules, () =>
      [
        ...rules,
        `version ${config_version}, ${acls.length} rules, ${acl_requests.length} requests`,
      ].join("\n"));
    if (flows !== null) await showTotals(flows, context);
  },
});

async function totalsIn(path: string): Promise<FlowTotals[]> {
  return await (await import("./flows/flow_totals.ts")).totalsOf(path);
}

async function showTotals(flows: readonly FlowTotals[], { output }: Context): Promise<void> {
  const { reasonsOf } = await import("./flows/flow_totals.ts");
  await output.rows(each(flows), {
    heads: ["WAY", "AGENT", "PORT", "CLEAN", "RESET", "REFUSED", "RECEIVED", "SENT", "WHY"],
    cells: (totals) => [
      totals.direction,
      totals.agent,
      `${totals.port ?? "several"}${totals.proto === "udp" ? "/udp" : ""}`,
      ...[totals.clean, totals.reset, totals.refused].map(String),
      ...[totals.received_bytes, totals.sent_bytes].map(inBytes),
      reasonsOf(totals),
    ],
  });
}

/** Whether the operator has set a relay; null if the request for it failed. */
export async function hasRelay(mesh: AgentMesh): Promise<boolean | null> {
  try {
    await mesh.relay({ retrySeconds: 0 });
    return true;
  } catch (error) {
    return error instanceof AgentError && saysNoRelay(error) ? false : null;
  }
}

export function saysNoRelay({ code, details }: AgentError): boolean {
  return code === "misconfigured" && (details as { relay?: unknown } | null)?.relay === "none";
}

/** Whether the agent and a peer reach each other. */
function pathBetween(own: Peer, peer: Peer, relayIsSet: boolean | null): PathDescription {
  // An older deployment returns no `path`.
  const { reported_by_self = null, reported_by_peer = null } = peer.path ?? {};
  const sideOf = (
    { agent_id, online, endpoint, endpoints = endpoint === null ? [] : [endpoint], ...peer }: Peer,
    report: PathSide["report"],
  ): PathSide => {
    // An older deployment returns no `problem`.
    const { problem = null } = peer;
    return { agent_id, online, lags: null, endpoints, problem, report };
  };
  const sides = [sideOf(own, reported_by_self), sideOf(peer, reported_by_peer)] as const;
  return describePath(sides, relayIsSet);
}

/** Requests that one side has not agreed to, with the command that agrees. */
export const requests: Verb = defineVerb({
  summary: "Show rules that wait for one side, and the command to agree.",
  example: "agentfiles mesh requests",
  options: {},
  async run(_parsed, context) {
    const { acl_requests } = await (await context.mesh()).netmap();
    await context.output.rows(each(acl_requests), {
      heads: ["WAITS FOR", "TO AGREE"],
      cells: ({ from_agent, to_agent, port, proto, waiting_for }) => [
        waiting_for,
        `agentfiles mesh allow ${from_agent} ${to_agent} ${port}/${proto}`,
      ],
    });
  },
});

/** Lines for /etc/hosts. */
export const hosts: Verb = defineVerb({
  summary: "Print lines for /etc/hosts.",
  example: "agentfiles mesh hosts",
  options: {},
  async run(_parsed, context) {
    const { peers } = await (await context.mesh()).netmap();
    // Only names: they are unique. Two identifiers may differ in capitals alone.
    const hosts = peers.flatMap(({ name, agent_id, addresses }) =>
      addresses.map((address) => ({ address, name, agent_id }))
    );
    for (const host of hosts) {
      await context.output.value(
        host,
        ({ address, name }) => `${plain(address)}\t${plain(name)}.${MESH_DOMAIN} ${plain(name)}`,
      );
    }
  },
});

async function* each<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  yield* items;
}
