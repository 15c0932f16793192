/** Agents with peers and rules, for the tests of the mesh group. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import nacl from "tweetnacl";
import {
  type Agent,
  type Answer,
  createAgent,
  operatorRpc,
  post,
  type Sender,
  succeed,
} from "./client.ts";

export interface Peer {
  readonly agent_id: string;
  readonly pubkey: string;
  readonly endpoint: string | null;
  readonly addresses: readonly [string, string];
  readonly last_seen: string | null;
  readonly online: boolean;
  readonly registered_at: string;
  readonly updated_at: string;
}

export interface AccessRule {
  readonly from_agent: string;
  readonly to_agent: string;
  readonly port: number;
  readonly proto: string;
}

export interface Netmap {
  readonly agent_id: string;
  readonly config_version: number;
  readonly peers: readonly (Peer & {
    readonly self: boolean;
    readonly psk_version: number | null;
    readonly config_version_applied: number | null;
  })[];
  readonly acls: readonly AccessRule[];
  readonly acl_requests: readonly (AccessRule & { readonly waiting_for: string })[];
}

export interface WgConfig {
  readonly agent_id: string;
  readonly config_version: number;
  readonly config: string;
}

/** The cast: three agents with keys; none of them is a peer yet. */
export interface MeshCast {
  readonly alice: Agent;
  readonly bob: Agent;
  readonly carol: Agent;
}

/** A test with a cast of its own, whose peers, rules and keys end with it. */
export function meshTest(name: string, run: (cast: MeshCast) => Promise<void>): void {
  Deno.test(name, async () => {
    const [alice, bob, carol] = await Promise.all(["alice", "bob", "carol"].map(createAgent)) as [
      Agent,
      Agent,
      Agent,
    ];
    try {
      await run({ alice, bob, carol });
    } finally {
      for (const { id } of [alice, bob, carol]) {
        await succeed("/agent-mesh/peer/remove", { as: "operator", body: { agent_id: id } });
        await operatorRpc("revoke_agent_keys", { agent_id: id });
      }
    }
  });
}

export function newPubkey(): string {
  return Buffer.from(nacl.box.keyPair().publicKey).toString("base64");
}

/** Makes a peer of an agent, asked as that agent: behind NAT, unless an endpoint is given. */
export function join(agent: Agent, registration: Partial<Peer> | object = {}): Promise<Peer> {
  return succeed<Peer>("/agent-mesh/peer/register", {
    as: agent,
    body: { agent_id: agent.id, pubkey: newPubkey(), ...registration },
  });
}

export function ruleBetween(
  from: Agent,
  to: Agent,
  { port = 443, proto = "tcp" }: { port?: number; proto?: string } = {},
): AccessRule {
  return { from_agent: from.id, to_agent: to.id, port, proto };
}

export function putRule(as: Sender, rule: object): Promise<Answer> {
  return post("/agent-mesh/acl/put", { as, body: rule });
}

export function revokeRule(as: Sender, rule: object): Promise<Answer> {
  return post("/agent-mesh/acl/revoke", { as, body: rule });
}

/** Puts a rule for both sides. */
export function agree(rule: AccessRule): Promise<unknown> {
  return succeed("/agent-mesh/acl/put", { as: "operator", body: rule });
}

/** Registers both, with one rule between them. Returns the first's peer. */
export async function pairUp(one: Agent, other: Agent): Promise<Peer> {
  const peer = await join(one);
  await join(other);
  await agree(ruleBetween(one, other));
  return peer;
}

export function netmapOf(agent: Agent): Promise<Netmap> {
  return succeed<Netmap>("/agent-mesh/netmap", { as: agent });
}

export function configOf(agent: Agent, body: object = {}): Promise<WgConfig> {
  return succeed<WgConfig>("/agent-mesh/wg_config", { as: agent, body });
}

export async function configVersionOf(agent: Agent): Promise<number> {
  return (await netmapOf(agent)).config_version;
}

export function rotate(as: Sender, a: Agent, b: Agent): Promise<Answer> {
  return post("/agent-mesh/psk/rotate", { as, body: { a: a.id, b: b.id } });
}

/** The values of a key in a configuration, such as every `PresharedKey`. */
export function valuesOf(key: string, { config }: WgConfig): string[] {
  return Array.from(config.matchAll(new RegExp(`^${key} = (.*)$`, "gm")), ([, value]) => value!);
}

/** Runs `refused`, and asserts that nothing about these agents is different afterwards. */
export async function leavesUnchanged(
  agents: readonly Agent[],
  refused: () => Promise<unknown>,
): Promise<void> {
  const before = await everythingAbout(agents);
  await refused();
  assert.deepEqual(await everythingAbout(agents), before);
}

/** Configurations first: they make the PSKs that the maps count. */
async function everythingAbout(agents: readonly Agent[]): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const path of ["wg_config", "netmap"]) {
    for (const { id } of agents) {
      const body = { agent_id: id };
      const answer = await post(`/agent-mesh/${path}`, { as: "operator", body });
      answers.push(answer.status === 200 ? answer.body : answer.status);
    }
  }
  return answers;
}
