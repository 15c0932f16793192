import type { Agent } from "../conformance/client.ts";
import type { Host } from "../wireguard/hosts/host.ts";
import { TUNNEL_PORT } from "../wireguard/hosts/mesh_of_hosts.ts";
import { SERVICE_ORIGIN } from "../wireguard/hosts/service_door.ts";

/** The folder of the agents under test. */
export const EXAMPLES = new URL("../../examples", import.meta.url).pathname;

/** The environment of an agent that reaches the service by its host's door. */
export async function agentSettings(
  { host, agent, interfaceName }: { host: Host; agent: Agent; interfaceName: string },
): Promise<Record<string, string>> {
  const keyFile = `${host.directory}/agent-key`;
  await Deno.writeTextFile(keyFile, `${agent.key}\n`, { mode: 0o600 });
  return {
    MESH_URL: `${SERVICE_ORIGIN}/functions/v1/agent-mesh`,
    AGENT_ID: agent.id,
    AGENT_KEY_FILE: keyFile,
    INTERFACE: interfaceName,
    ...(host.address === null ? {} : { ENDPOINT: `${host.address}:${TUNNEL_PORT}` }),
  };
}
