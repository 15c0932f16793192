/** The agents of the mesh tests, and the requests that they send. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import nacl from "tweetnacl";
import {
  type Agent,
  type Answer,
  createAgent,
  type JsonObject,
  operatorRpc,
  post,
  type Sender,
  succeed,
} from "./client.ts";

export interface Peer {
  readonly agent_id: string;
  readonly name: string;
  readonly pubkey: string;
  readonly endpoint: string | null;
  readonly endpoints: readonly string[];
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

export interface PathReport {
  readonly works: boolean;
  readonly via: string;
  readonly since: string;
  readonly handshake_age_seconds: number | null;
  readonly endpoint: string | null;
  readonly reported_at: string;
}

export interface Path {
  readonly reported_by_self: PathReport | null;
  readonly reported_by_peer: PathReport | null;
}

export interface Netmap {
  readonly agent_id: string;
  readonly config_version: number;
  readonly peers: readonly (Peer & {
    readonly self: boolean;
    readonly psk_version: number | null;
    readonly config_version_applied: number | null;
    readonly path: Path | null;
    readonly problem: { readonly code: string; readonly network: string | null } | null;
  })[];
  readonly acls: readonly AccessRule[];
  readonly acl_requests: readonly (AccessRule & { readonly waiting_for: string })[];
}

export interface WgConfig {
  readonly agent_id: string;
  readonly config_version: number;
  readonly config: string;
}

/** Three agents with keys. None of them is a peer until a test makes it one. */
export interface MeshCast {
  readonly alice: Agent;
  readonly bob: Agent;
  readonly carol: Agent;
}

/** A test with new agents. Their peers, rules and keys are removed at its end. */
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
        await removePeer("operator", id);
        await operatorRpc("revoke_agent_keys", { agent_id: id });
      }
    }
  });
}

/** The public key of a new key pair, which passes every check of /peer/register. */
export function newPubkey(): string {
  return Buffer.from(nacl.box.keyPair().publicKey).toString("base64");
}

/** Fields of /peer/register that a test may set to any value. */
interface Registration {
  readonly pubkey?: unknown;
  readonly endpoint?: unknown;
  readonly endpoints?: unknown;
  readonly listen_port?: unknown;
}

/** Registers the agent, by default without an endpoint (behind NAT). Fails unless 200. */
export async function join(agent: Agent, registration: Registration = {}): Promise<Peer> {
  const answer = await tryJoin(agent, registration);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

/** Calls /peer/register as the agent, which may fail. */
export function tryJoin(agent: Agent, registration: Registration = {}): Promise<Answer<Peer>> {
  const body = { agent_id: agent.id, pubkey: newPubkey(), ...registration };
  return post<Peer>("/agent-mesh/peer/register", { as: agent, body });
}

/** Calls /peer/remove; anything but 200 fails. */
export function removePeer(as: Sender, agent_id: string): Promise<JsonObject> {
  return succeed("/agent-mesh/peer/remove", { as, body: { agent_id } });
}

/** Calls /peer/heartbeat as the agent; anything but 200 fails. */
export function heartbeat(agent: Agent, report: { config_version?: number } = {}) {
  return succeed("/agent-mesh/peer/heartbeat", {
    as: agent,
    body: { agent_id: agent.id, ...report },
  });
}

/** The rule that lets `from` reach a port of `to`. */
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

/** Makes a rule active at once, as the operator may. */
export function agree(rule: AccessRule): Promise<unknown> {
  return succeed("/agent-mesh/acl/put", { as: "operator", body: rule });
}

/** Registers both agents, with one active rule between them. Returns the first one's peer. */
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

/** The agent ids of the peers in a netmap, in its order. */
export function idsIn({ peers }: Netmap): string[] {
  return peers.map(({ agent_id }) => agent_id);
}

export async function configVersionOf(agent: Agent): Promise<number> {
  return (await netmapOf(agent)).config_version;
}

export function rotate(as: Sender, a: Agent, b: Agent): Promise<Answer> {
  return post("/agent-mesh/psk/rotate", { as, body: { a: a.id, b: b.id } });
}

/** Every value of one key in a configuration, such as `PresharedKey`, in the order of its lines. */
export function valuesOf(key: string, { config }: WgConfig): string[] {
  return Array.from(config.matchAll(new RegExp(`^${key} = (.*)$`, "gm")), ([, value]) => value!);
}

/** Runs `refused`, and asserts that each agent's netmap and configuration are as before. */
export async function leavesUnchanged(
  agents: readonly Agent[],
  refused: () => Promise<unknown>,
): Promise<void> {
  const before = await everythingAbout(agents);
  await refused();
  assert.deepEqual(await everythingAbout(agents), before);
}

/** Reads configurations first: reading one creates the PSKs whose versions the netmaps show. */
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
