import { createHash } from "node:crypto";
import type { JsonObject } from "../../../conformance/client.ts";
import type { Agent, Heard } from "../../known/known.ts";
import type { Neighbour } from "../../known/mesh/mesh.ts";
import type { Turn } from "../../turn.ts";

interface SentPath {
  readonly endpoint: string | null;
}

/** An address that no other request names: `port` is in the order of requests. */
function newEndpoint({ known }: Turn): string {
  return `203.0.113.7:${10_000 + known.nextPlace()}`;
}

/** 32 bytes that are below the prime of Curve25519. */
function newPubkey(name: string, turn: Turn): string {
  const bytes = createHash("sha256").update(`${name} ${turn.step}`).digest();
  bytes[31]! &= 0x3f;
  return bytes.toString("base64");
}

/** Registers a host, or moves it to a new endpoint, with a new public key if `isRekeyed`. */
export async function registerHost(turn: Turn, host: Agent, isRekeyed = false): Promise<void> {
  const { mesh } = turn.known;
  const former = mesh.pubkeys.get(host.name);
  const pubkey = isRekeyed || former === undefined ? newPubkey(host.name, turn) : former;
  const endpoint = newEndpoint(turn);
  const start = turn.known.nextPlace();
  const write = mesh.endpointOf(host.name).begin(endpoint, start);
  const rotation = mesh.register(host.name, pubkey, start);
  const entry = await turn.ask("/agent-mesh/peer/register", host, { pubkey, endpoint });
  mesh.endpointOf(host.name).settle(write, entry);
  if (entry.status !== 200) return;
  rotation.end = entry.end;
  mesh.registering.delete(rotation);
}

/** The host fetches its configuration and applies it. */
export async function fetchConfiguration(turn: Turn, host: Agent): Promise<void> {
  const { mesh } = turn.known;
  const entry = await turn.ask("/agent-mesh/wg_config", host, { format: "json" });
  if (entry.status !== 200) return;
  const version = Number(entry.answer!["config_version"]);
  const peers = entry.answer!["peers"] as readonly JsonObject[];
  const configuration = {
    version,
    peers: new Map(peers.map((peer): [string, Neighbour] => [String(peer["agent_id"]), {
      psk: String(peer["preshared_key"]),
      endpoint: (peer["endpoints"] as string[])[0] ?? null,
    }])),
  };
  mesh.views.push({ ...configuration, host: host.name, start: entry.start, end: entry.end });
  const former = mesh.applied.get(host.name);
  if ((former?.version ?? 0) <= version) mesh.applied.set(host.name, configuration);
}

/** A heartbeat says what the host runs and, with `seesPeers`, where it sees its neighbours. */
async function heartbeat(turn: Turn, host: Agent, seesPeers: boolean): Promise<Heard> {
  const { mesh } = turn.known;
  const applied = mesh.applied.get(host.name);
  const others = seesPeers ? [...applied?.peers.keys() ?? []] : [];
  const paths = others.map((agent_id): JsonObject & { agent_id: string; endpoint: string } => ({
    agent_id,
    endpoint: newEndpoint(turn),
    via: "direct",
    handshake_age_seconds: 5,
  }));
  const start = turn.known.nextPlace();
  const writes = paths.map(({ agent_id, endpoint }) =>
    [agent_id, mesh.pathOf(host.name, agent_id).begin(endpoint, start)] as const
  );
  const entry = await turn.ask("/agent-mesh/peer/heartbeat", host, {
    ...(applied === undefined ? {} : { config_version: applied.version }),
    ...(seesPeers ? { paths } : {}),
  });
  for (const [other, write] of writes) mesh.pathOf(host.name, other).settle(write, entry);
  if (entry.status === 200 && entry.answer!["config_version"] === applied?.version) {
    mesh.views.push({ ...applied!, host: host.name, start: entry.start, end: entry.end });
  }
  return entry;
}

/** What a host does every 30 seconds: it asks whether it runs the newest configuration. */
export async function keepUp(turn: Turn, host: Agent, seesPeers = false): Promise<void> {
  const { status, answer } = await heartbeat(turn, host, seesPeers);
  const version = turn.known.mesh.applied.get(host.name)?.version;
  if (status === 200 && answer!["config_version"] !== version) await fetchConfiguration(turn, host);
}

/** The host reads its map: who of its neighbours was seen where. */
export async function readMap(turn: Turn, host: Agent): Promise<void> {
  const { mesh } = turn.known;
  const { status, answer, start, end } = await turn.ask("/agent-mesh/netmap", host, {});
  if (status !== 200) return;
  for (const peer of answer!["peers"] as JsonObject[]) {
    const path = peer["path"] as Readonly<Record<string, SentPath | null>> | null;
    const other = String(peer["agent_id"]);
    const reports = [
      { reporter: host.name, other, endpoint: path?.["reported_by_self"]?.endpoint },
      { reporter: other, other: host.name, endpoint: path?.["reported_by_peer"]?.endpoint },
    ];
    for (const { reporter, other, endpoint } of reports) {
      if (endpoint) mesh.reported.push({ reporter, other, endpoint, start, end });
    }
  }
}

/** Replaces the PSK of a pair. */
export async function rotate(turn: Turn, host: Agent, other: Agent): Promise<void> {
  const agents = [host.name, other.name];
  const rotation = { agents, start: turn.known.nextPlace(), end: Infinity };
  turn.known.mesh.rotations.push(rotation);
  const names = { a: host.name, b: other.name };
  const entry = await turn.ask("/agent-mesh/psk/rotate", host, names);
  if (entry.status === 200) rotation.end = entry.end;
}
