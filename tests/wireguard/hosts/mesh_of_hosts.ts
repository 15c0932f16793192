import { type Agent, createAgent, succeed, SUPABASE_URL } from "../../conformance/client.ts";
import { run } from "./run_program.ts";
import type { Host } from "./host.ts";
import { Internet } from "./internet.ts";

export const TUNNEL_PORT = 51820;

/** The ports that most rules of the tests allow. */
export const TCP_80 = { proto: "tcp", port: 80 } as const;
export const TCP_443 = { proto: "tcp", port: 443 } as const;
export const UDP_443 = { proto: "udp", port: 443 } as const;

/** Where the agents of a mesh are known. */
export interface Deployment {
  readonly origin: string;
  createAgent(name: string): Promise<Agent>;
  /** The answer of an operation, which must be 200. */
  ask<AnswerBody>(
    path: string,
    request: { readonly as: Agent | "operator"; readonly body?: unknown },
  ): Promise<AnswerBody>;
}

const UNDER_TEST: Deployment = { origin: SUPABASE_URL, createAgent, ask: succeed };

/** An agent on its own host, registered as a peer. */
export interface Member {
  readonly agent: Agent;
  readonly host: Host;
  readonly interfaceName: string;
  readonly publicKey: string;
  readonly ipv4: string;
  readonly ipv6: string;
}

/** The part of an IPv4 address that names a network of /16: `10.64` of 10.64.0.1. */
export function firstTwoNumbers(ipv4: string): string {
  return ipv4.split(".", 2).join(".");
}

export interface AccessRule {
  readonly from: Member;
  readonly to: Member;
  readonly proto: "tcp" | "udp";
  readonly port: number;
}

/** A mesh of fresh agents, with the hosts that they run on. */
export class Mesh implements AsyncDisposable {
  readonly #members: Member[] = [];
  readonly #attached: AsyncDisposable[] = [];

  private constructor(readonly internet: Internet, readonly deployment: Deployment) {}

  /** `deployment`: default, the service under test. */
  static async create(deployment: Deployment = UNDER_TEST): Promise<Mesh> {
    return new Mesh(await Internet.create(), deployment);
  }

  /** A new host whose agent has a key pair and is registered. Its tunnel is not up yet. */
  async join(
    name: string,
    { behindNat = false, endpoint, at }: {
      behindNat?: boolean;
      endpoint?: string;
      /** A host of this mesh's internet. Default: a new one. */
      at?: Host;
    } = {},
  ): Promise<Member> {
    const add = behindNat ? "addHostBehindNat" : "addHost";
    const host = at ?? await this.internet[add](name);
    const interfaceName = `${this.internet.id}-${this.#members.length}`;
    const agent = await this.deployment.createAgent(name);
    const privateKey = await run(["wg", "genkey"]);
    await Deno.writeTextFile(keyFile(host, interfaceName), privateKey, { mode: 0o600 });
    const publicKey = (await run(["wg", "pubkey"], { input: privateKey })).trim();
    const reachableAt = host.endpointAt(TUNNEL_PORT);
    const { addresses } = await this.deployment.ask<{ addresses: [string, string] }>(
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

  /** Makes `thing` end with the mesh, before the hosts end. */
  attach<Thing extends AsyncDisposable>(thing: Thing): Thing {
    this.#attached.push(thing);
    return thing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const thing of this.#attached) await thing[Symbol.asyncDispose]();
    await this.internet[Symbol.asyncDispose]();
    for (const { agent } of this.#members) {
      const body = { agent_id: agent.id };
      await this.deployment.ask("/agent-mesh/peer/remove", { as: "operator", body });
    }
  }
}

export function putRule(rule: AccessRule): Promise<unknown> {
  return succeed("/agent-mesh/acl/put", { as: "operator", body: ruleBody(rule) });
}

export function revokeRule(rule: AccessRule): Promise<unknown> {
  return succeed("/agent-mesh/acl/revoke", { as: "operator", body: ruleBody(rule) });
}

/** The fields of a rule in a request. */
export function ruleBody({ from, to, proto, port }: AccessRule) {
  return { from_agent: from.agent.id, to_agent: to.agent.id, proto, port };
}

/** The configuration that a member gets from /wg_config now. */
export async function servedConfiguration(
  { agent, host }: Member,
  options: { firewall?: "none" } = {},
): Promise<string> {
  const { config } = await succeed<{ config: string }>("/agent-mesh/wg_config", {
    as: agent,
    body: { private_key_file: keyFile(host, "%i"), ...options },
  });
  return config;
}

/** Writes a configuration to the file that wg-quick reads. Returns its path. */
export async function writeConfiguration(
  { host, interfaceName }: Member,
  text: string,
): Promise<string> {
  const path = `${host.directory}/${interfaceName}.conf`;
  await Deno.writeTextFile(path, text, { mode: 0o600 });
  return path;
}

/** Runs `wg-quick up` with the configuration from the service. */
export async function bringUp(
  member: Member,
  options: { firewall?: "none" } = {},
): Promise<void> {
  const path = await writeConfiguration(member, await servedConfiguration(member, options));
  await member.host.run(["wg-quick", "up", path]);
}

export async function takeDown({ host, interfaceName }: Member): Promise<void> {
  await host.run(["wg-quick", "down", `${host.directory}/${interfaceName}.conf`]);
}

export const FIREWALL_HOOK = /^PostUp = (.* nft -f - .*)$/m;
export const NAMES_HOOK = /^PostUp = (.*getent.*)$/m;

/** Runs one hook of a configuration as wg-quick would. */
export async function runHook(
  member: Member,
  { text, hook }: { text: string; hook: RegExp },
): Promise<{ success: boolean; errors: string }> {
  const path = await writeConfiguration(member, text);
  const command = hook.exec(text)?.[1]?.replaceAll("%i", member.interfaceName);
  if (command === undefined) throw new Error(`No hook is like ${hook}.`);
  const script = 'set -e -o pipefail; CONFIG_FILE=$0; eval "$1"; wait';
  return await member.host.runAnyhow(["bash", "-c", script, path, command]);
}

/**
 * Uses `ip`: without the kernel module, `wg show interfaces` lists the interfaces of all
 * namespaces.
 */
export async function hasInterface({ host, interfaceName }: Member): Promise<boolean> {
  return (await host.runAnyhow(["ip", "link", "show", "dev", interfaceName])).success;
}

/** A field of `wg show` for one peer, for example `latest-handshakes` or `preshared-keys`. */
export async function peerField(
  { host, interfaceName }: Member,
  { peer, field }: { peer: Member; field: string },
): Promise<string | undefined> {
  const lines = (await host.run(["wg", "show", interfaceName, field])).split("\n");
  return lines.map((line) => line.split("\t")).find(([key]) => key === peer.publicKey)?.[1];
}

function keyFile(host: Host, interfaceName: string): string {
  return `${host.directory}/${interfaceName}.key`;
}
