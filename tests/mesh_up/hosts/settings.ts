import type { Agent } from "../../conformance/client.ts";
import type { Host } from "../../wireguard/hosts/host.ts";
import { TUNNEL_PORT } from "../../wireguard/hosts/mesh_of_hosts.ts";
import { SERVICE_ORIGIN } from "../../wireguard/hosts/service_door.ts";

/** The environment of an agent that reaches the service through its host's door. */
export async function agentSettings(
  { host, agent, interfaceName }: { host: Host; agent: Agent; interfaceName: string },
): Promise<Record<string, string>> {
  const keyFile = `${host.directory}/agent-key`;
  await Deno.writeTextFile(keyFile, `${agent.key}\n`, { mode: 0o600 });
  const endpoint = host.endpointAt(TUNNEL_PORT);
  return {
    MESH_URL: `${SERVICE_ORIGIN}/functions/v1/agent-mesh`,
    AGENT_ID: agent.id,
    AGENT_KEY_FILE: keyFile,
    INTERFACE: interfaceName,
    RUN_DIR: runDirectoryOf(host),
    HOSTS_FILE: await hostsFile(host),
    ...(endpoint === null ? {} : { ENDPOINT: endpoint }),
  };
}

/** Instead of /run/agentfiles-mesh, which all hosts of a test would share. */
export function runDirectoryOf(host: Host): string {
  return `${host.directory}/run`;
}

/** The content of a host's hosts file before an agent writes to it. */
export const HOSTS_BEFORE = "127.0.0.1\tlocalhost\n# by hand\n192.0.2.7 printer Printer.example\n";

/** A file of the test, used instead of /etc/hosts. */
async function hostsFile(host: Host): Promise<string> {
  const path = `${host.directory}/hosts`;
  await Deno.writeTextFile(path, HOSTS_BEFORE);
  return path;
}
