/** Histories written by hand, for the tests of the checker. */
import assert from "node:assert/strict";
import type { JsonObject } from "../../conformance/client.ts";
import { DOWNLOAD, type Entry } from "../history.ts";
import { checkHistory } from "./check_history.ts";

type Times = readonly [start: number, end: number];

/** The status, if it is not 200. */
interface Otherwise {
  readonly status?: number;
}

/** Asserts that the checker finds violations of exactly these rules. */
export function assertBroken(history: readonly Entry[], ...rules: string[]): void {
  assert.deepEqual([...new Set(checkHistory(history).map(({ rule }) => rule))], rules);
}

/** A request to agent-artifacts. */
export function artifacts(
  [start, end]: Times,
  [agent, path]: readonly [agent: string, path: string],
  { request = {}, answer = {}, status = 200 }: Otherwise & {
    readonly request?: JsonObject;
    readonly answer?: JsonObject;
  },
): Entry {
  const operation = path === DOWNLOAD ? DOWNLOAD : `/agent-artifacts${path}`;
  return { operation, agent, request, start, end, status, answer: status === 200 ? answer : null };
}

export function register(at: Times, agent: string, artifact_id: string, key = "k"): Entry {
  return artifacts(at, [agent, "/register"], { answer: { artifact_id, key } });
}

export function commit(
  at: Times,
  agent: string,
  artifact_id: string,
  otherwise: Otherwise = {},
): Entry {
  const request = { artifact_id, sha256: `digest of ${artifact_id}` };
  return artifacts(at, [agent, "/commit"], { request, ...otherwise });
}

export function remove(at: Times, agent: string, artifact_id: string, otherwise: Otherwise = {}) {
  return artifacts(at, [agent, "/delete"], { request: { artifact_id }, ...otherwise });
}

export function list(at: Times, agent: string, ...ids: string[]): Entry {
  const listed = ids.map((artifact_id) => ({ artifact_id, key: "k" }));
  return artifacts(at, [agent, "/list"], { answer: { artifacts: listed, next_cursor: null } });
}

export function open(at: Times, agent: string, artifact_id: string, otherwise: Otherwise = {}) {
  return artifacts(at, [agent, "/open"], { request: { artifact_id }, ...otherwise });
}

/** A grant by ann to bob. Its id and token contain `name`. */
export function grant(at: Times, artifact_id: string, name: string, otherwise: Otherwise = {}) {
  const request = { artifact_id, to_agent: "bob" };
  const answer = { ...request, grant_id: `grant_${name}`, token: `g_${name}` };
  return artifacts(at, ["ann", "/grant"], { request, answer, ...otherwise });
}

export function revoke(at: Times, request: JsonObject, otherwise: Otherwise = {}): Entry {
  return artifacts(at, ["ann", "/revoke"], { request, ...otherwise });
}

export function redeem(at: Times, name: string): Entry {
  return artifacts(at, ["bob", "/fetch"], { request: { grant_token: `g_${name}` } });
}

export function inbox(at: Times, ...names: string[]): Entry {
  const grants = names.map((name) => ({ grant_id: `grant_${name}` }));
  return artifacts(at, ["bob", "/inbox"], { answer: { grants, next_cursor: null } });
}

/** A take by bob, for 30 seconds, of the grant whose id contains `name`. */
export function take(at: Times, name: string): Entry {
  const task = { grant_id: `grant_${name}`, take_id: `take_${name}`, attempt: 1 };
  return artifacts(at, ["bob", "/inbox/take"], {
    request: { seconds: 30 },
    answer: { tasks: [{ ...task, from_agent: "ann", granted_at: "2026-01-31T09:30:00.000Z" }] },
  });
}

/** A request to agent-mesh. */
export function mesh(
  [start, end]: Times,
  [agent, path]: readonly [agent: string, path: string],
  { request = {}, answer = {}, status = 200 }: Otherwise & {
    readonly request?: JsonObject;
    readonly answer?: JsonObject;
  } = {},
): Entry {
  const operation = `/agent-mesh${path}`;
  return { operation, agent, request, start, end, status, answer: status === 200 ? answer : null };
}

export function join(at: Times, agent: string, pubkey: string, address = agent): Entry {
  const answer = { agent_id: agent, pubkey, addresses: [address] };
  return mesh(at, [agent, "/peer/register"], { request: { pubkey }, answer });
}

/** A map of an agent, with these other peers and rules. */
export function map(
  at: Times,
  agent: string,
  { others = [], acls = [] }: { others?: readonly string[]; acls?: readonly JsonObject[] },
): Entry {
  const peers = [agent, ...others].map((agent_id) => ({
    agent_id,
    self: agent_id === agent,
    pubkey: `key of ${agent_id}`,
    addresses: [agent_id],
  }));
  return mesh(at, [agent, "/netmap"], { answer: { peers, acls: [...acls] } });
}

/** A configuration of one agent, with its PSK for one other agent. */
export function config(
  at: Times,
  agent: string,
  { version = 1, other, psk }: { version?: number; other: string; psk: string },
): Entry {
  const text =
    `[Interface]\nMTU = 1280\n\n[Peer]\n# ${other}\nPublicKey = p\nPresharedKey = ${psk}\n`;
  return mesh(at, [agent, "/wg_config"], { answer: { config_version: version, config: text } });
}
