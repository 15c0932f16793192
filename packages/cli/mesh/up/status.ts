/** What `mesh up --status` shows. */
import type { Agent } from "./agent.ts";
import type { Settings } from "./basics/settings.ts";
import type { LocalHost } from "./host/local_host.ts";

export interface Status {
  readonly interface: string;
  readonly agent_id: string | null;
  /** Whether the tunnel is up. */
  readonly up: boolean;
  readonly addresses: readonly string[];
  /** The endpoint that is registered. */
  readonly endpoint: string | null;
  readonly config_version: number | null;
  /** Where the names of the peers are answered by DNS. */
  readonly dns: string | null;
  /** Why the last round with the service failed. */
  readonly trouble: string | null;
  readonly peers: readonly {
    readonly agent_id: string;
    readonly name: string | null;
    readonly addresses: readonly string[];
    readonly via: string;
    readonly endpoint: string | null;
    readonly handshake_age_seconds: number | null;
  }[];
}

export function statusOf(
  { interfaceName }: Settings,
  { host, agent, agentId }: {
    readonly host: LocalHost;
    readonly agent: Agent;
    readonly agentId: string | undefined;
  },
): Status {
  const { wanted, version, endpoint, watch: { paths } } = host;
  const reports = new Map(paths.map((path) => [path.agent_id, path]));
  return {
    interface: interfaceName,
    agent_id: wanted?.agentId ?? agentId ?? null,
    up: version !== null,
    addresses: wanted === null ? [] : [wanted.ipv4, wanted.ipv6],
    endpoint,
    config_version: version,
    dns: host.names.server,
    trouble: agent.trouble,
    peers: (wanted?.peers ?? []).map(({ agentId, name, ipv4, ipv6 }) => {
      const report = reports.get(agentId);
      return {
        agent_id: agentId,
        name,
        addresses: [ipv4, ipv6],
        via: report?.via ?? "none",
        endpoint: report?.endpoint ?? null,
        handshake_age_seconds: report?.handshake_age_seconds ?? null,
      };
    }),
  };
}

/** The same for a person. */
export function statusText(status: Status): string {
  const { agent_id, up, addresses, endpoint, config_version, trouble, peers } = status;
  const state = up
    ? `up as ${agent_id}: ${addresses.join(", ")}${endpoint === null ? "" : `, at ${endpoint}`}`
    : "down";
  return [
    `${status.interface} is ${state}`,
    ...(config_version === null ? [] : [`version ${config_version}, ${peers.length} peers`]),
    ...(trouble === null ? [] : [`trouble: ${trouble}`]),
    ...peers.map(({ name, agent_id, addresses, via, endpoint }) =>
      `${name ?? agent_id}  ${addresses[0]}  ${
        via === "none" ? "no connection" : via === "relay" ? "by a relay" : "directly"
      }${endpoint === null ? "" : `  ${endpoint}`}`
    ),
  ].join("\n");
}
