import { type Agent, createAgent, succeed, SUPABASE_URL } from "../conformance/service.ts";
import { eventually, run } from "./command.ts";
import { type Host, Internet, untilListening } from "./internet.ts";

export const TUNNEL_PORT = 51820;

/** An agent on its own host, registered as a peer. */
export interface Member {
  readonly agent: Agent;
  readonly host: Host;
  readonly interfaceName: string;
  readonly publicKey: string;
  readonly ipv4: string;
  readonly ipv6: string;
}

export interface AccessRule {
  readonly from: Member;
  readonly to: Member;
  readonly proto: "tcp" | "udp";
  readonly port: number;
}

/** A mesh of fresh agents on the service under test, and the hosts that they live on. */
export class Mesh implements AsyncDisposable {
  readonly #members: Member[] = [];

  private constructor(readonly internet: Internet) {}

  static async create(): Promise<Mesh> {
    return new Mesh(await Internet.create());
  }

  /** A new host whose agent has a key pair and is registered; its tunnel is not up yet. */
  async join(
    name: string,
    { behindNat = false, endpoint }: { behindNat?: boolean; endpoint?: string } = {},
  ): Promise<Member> {
    const host = behindNat
      ? await this.internet.addHostBehindNat(name)
      : await this.internet.addHost(name);
    const interfaceName = `${this.internet.id}${this.#members.length}`;
    const agent = await createAgent(name);
    const privateKey = await run(["wg", "genkey"]);
    await Deno.writeTextFile(keyFile(host, interfaceName), privateKey, { mode: 0o600 });
    const publicKey = (await run(["wg", "pubkey"], { input: privateKey })).trim();
    const reachableAt = host.address === null ? null : `${host.address}:${TUNNEL_PORT}`;
    const { addresses } = await succeed<{ addresses: [string, string] }>(
      "/agent-mesh/peer/register",
      {
        as: agent,
        body: { agent_id: agent.id, pubkey: publicKey, endpoint: endpoint ?? reachableAt },
      },
    );
    const [ipv4, ipv6] = addresses;
    const member = { agent, host, interfaceName, publicKey, ipv4, ipv6 };
    this.#members.push(member);
    return member;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.internet[Symbol.asyncDispose]();
    for (const { agent } of this.#members) {
      await succeed("/agent-mesh/peer/remove", { as: "operator", body: { agent_id: agent.id } });
    }
  }
}

export function putRule(rule: AccessRule): Promise<unknown> {
  return succeed("/agent-mesh/acl/put", { as: "operator", body: ruleBody(rule) });
}

export function revokeRule(rule: AccessRule): Promise<unknown> {
  return succeed("/agent-mesh/acl/revoke", { as: "operator", body: ruleBody(rule) });
}

/** Names a rule in a request. */
export function ruleBody({ from, to, proto, port }: AccessRule) {
  return { from_agent: from.agent.id, to_agent: to.agent.id, proto, port };
}

/** What /wg_config serves a member now, as the member itself asks for it. */
export async function servedConfiguration({ agent, host }: Member): Promise<string> {
  const { config } = await succeed<{ config: string }>("/agent-mesh/wg_config", {
    as: agent,
    body: { private_key_file: keyFile(host, "%i") },
  });
  return config;
}

/** Writes a configuration where wg-quick takes it from; returns the path. */
export async function writeConfiguration(
  { host, interfaceName }: Member,
  text: string,
): Promise<string> {
  const path = `${host.directory}/${interfaceName}.conf`;
  await Deno.writeTextFile(path, text, { mode: 0o600 });
  return path;
}

/** `wg-quick up` with the configuration that the service gives. */
export async function bringUp(member: Member): Promise<void> {
  const path = await writeConfiguration(member, await servedConfiguration(member));
  await member.host.run(["wg-quick", "up", path]);
}

export async function takeDown({ host, interfaceName }: Member): Promise<void> {
  await host.run(["wg-quick", "down", `${host.directory}/${interfaceName}.conf`]);
}

/** One field of `wg show` about one peer, such as its `latest-handshakes` or `preshared-keys`. */
export async function peerField(
  { host, interfaceName }: Member,
  { peer, field }: { peer: Member; field: string },
): Promise<string | undefined> {
  const lines = (await host.run(["wg", "show", interfaceName, field])).split("\n");
  return lines.map((line) => line.split("\t")).find(([key]) => key === peer.publicKey)?.[1];
}

/**
 * Starts examples/mesh-agent on a member's host, with a way to the service and to nothing else
 * outside the test's internet, and waits until its tunnel is up.
 */
export async function startExampleAgent(
  member: Member,
  { pollSeconds = 2 }: { pollSeconds?: number } = {},
): Promise<Deno.ChildProcess> {
  const { host, agent, interfaceName } = member;
  const service = new URL(SUPABASE_URL);
  const port = service.port || "80";
  const keyPath = `${host.directory}/agent-key`;
  await Deno.writeTextFile(keyPath, `${agent.key}\n`, { mode: 0o600 });
  await connectToService(host, { hostname: service.hostname, port: Number(port) });
  const child = host.start([AGENT_SCRIPT], {
    logName: "agent.log",
    env: {
      MESH_URL: `http://127.0.0.1:${port}/functions/v1/agent-mesh`,
      AGENT_ID: agent.id,
      AGENT_KEY_FILE: keyPath,
      INTERFACE: interfaceName,
      CONFIG_DIR: host.directory,
      POLL_SECONDS: String(pollSeconds),
      ...(host.address === null ? {} : { ENDPOINT: `${host.address}:${TUNNEL_PORT}` }),
    },
  });
  await untilApplied(member);
  return child;
}

/** What the example agent wrote so far. */
export function agentLog({ host }: Member): Promise<string> {
  return Deno.readTextFile(`${host.directory}/agent.log`).catch(() => "");
}

/** Waits until the example agent has applied what the service has for it now, and has said so. */
export async function untilApplied(member: Member, withinSeconds = 20): Promise<void> {
  await eventually(`${member.agent.id} has applied its configuration`, {
    withinSeconds,
    condition: async () => {
      const { config_version } = await succeed<{ config_version: number }>("/agent-mesh/netmap", {
        as: member.agent,
      });
      return (await agentLog(member)).includes(`config_version ${config_version} is applied`);
    },
  });
}

const AGENT_SCRIPT = new URL("../../examples/mesh-agent/mesh-agent.sh", import.meta.url).pathname;

function keyFile(host: Host, interfaceName: string): string {
  return `${host.directory}/${interfaceName}.key`;
}

/** By a socket in the file system, which namespaces share: no packet leaves the test's internet. */
async function connectToService(
  host: Host,
  { hostname, port }: { hostname: string; port: number },
): Promise<void> {
  const socket = `${host.directory}/service.sock`;
  host.startOutside(["socat", `UNIX-LISTEN:${socket},fork`, `TCP:${hostname}:${port}`], {
    logName: "service",
  });
  host.start(
    ["socat", `TCP-LISTEN:${port},bind=127.0.0.1,fork,reuseaddr`, `UNIX-CONNECT:${socket}`],
    { logName: "relay" },
  );
  await untilListening(host, { proto: "tcp", port });
}
