/** Agents with artifacts, for the tests of the artifact group. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  type Agent,
  type Answer,
  createAgent,
  operatorRpc,
  post,
  type Sender,
  succeed,
} from "./client.ts";

export interface Artifact {
  readonly artifact_id: string;
  readonly agent_id: string;
  readonly key: string;
  readonly mime: string;
  readonly size: number;
  readonly ttl_days: number;
  readonly sha256: string | null;
  readonly state: string;
  readonly created_at: string;
  readonly committed_at: string | null;
  readonly expires_at: string | null;
}

export interface Registered extends Artifact {
  readonly upload_url: string;
  readonly upload_expires_at: string;
}

export interface Grant {
  readonly grant_id: string;
  readonly token: string;
  readonly artifact_id: string;
  readonly to_agent: string;
  readonly expires_at: string;
}

export interface Access {
  readonly url: string;
  readonly expires_at: string;
  readonly artifact_id: string;
  readonly key: string;
  readonly mime: string;
  readonly size: number;
  readonly sha256: string;
}

export interface InboxEntry {
  readonly grant_id: string;
  readonly artifact_id: string;
  readonly from_agent: string;
  readonly key: string;
  readonly mime: string;
  readonly size: number;
  readonly sha256: string;
  readonly granted_at: string;
  readonly expires_at: string;
}

/** The cast: the planner owns, the builder is given, the stranger has nothing to do with either. */
export interface Cast {
  readonly planner: Agent;
  readonly builder: Agent;
  readonly stranger: Agent;
}

const registeredIds = new Set<string>();

/** A test with a cast of its own, whose artifacts and keys end with it. */
export function artifactTest(name: string, run: (cast: Cast) => Promise<void>): void {
  Deno.test(name, async () => {
    const [planner, builder, stranger] = await Promise.all(
      ["planner", "builder", "stranger"].map(createAgent),
    ) as [Agent, Agent, Agent];
    registeredIds.clear();
    try {
      await run({ planner, builder, stranger });
    } finally {
      for (const artifact_id of registeredIds) {
        await post("/agent-artifacts/delete", { as: "operator", body: { artifact_id } });
      }
      for (const agent of [planner, builder, stranger]) {
        await operatorRpc("revoke_agent_keys", { agent_id: agent.id });
      }
    }
  });
}

export function sha256(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** An instant `seconds` from now, as a request takes it. */
export function secondsFromNow(seconds: number): string {
  return new Date(Date.now() + seconds * 1000).toISOString();
}

/** Registers an artifact of the agent's that fits `content`. */
export async function register(
  agent: Agent,
  { content = "hello", key = "notes/hello.txt", mime = "text/plain", ttl_days = 7 } = {},
): Promise<Registered> {
  const size = new TextEncoder().encode(content).byteLength;
  const answer = await tryRegister(agent, { agent_id: agent.id, key, mime, size, ttl_days });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

/** Sends any body to /register, and remembers what came of it for the end of the test. */
export async function tryRegister(as: Sender, body: unknown): Promise<Answer<Registered>> {
  const answer = await post<Registered>("/agent-artifacts/register", { as, body });
  if (answer.status === 200) registeredIds.add(answer.body.artifact_id);
  return answer;
}

/** PUTs `content` to an upload URL; returns Storage's status. */
export async function upload(
  url: string,
  content: BodyInit,
  init: RequestInit = {},
): Promise<number> {
  const response = await fetch(url, { method: "PUT", body: content, ...init });
  await response.body?.cancel();
  return response.status;
}

export function commit(
  as: Sender,
  artifact: { readonly artifact_id: string },
  digest: string,
): Promise<Answer<Artifact>> {
  const body = { artifact_id: artifact.artifact_id, sha256: digest };
  return post<Artifact>("/agent-artifacts/commit", { as, body });
}

/** Registers, uploads and commits `content`. */
export async function publish(
  agent: Agent,
  options: { content?: string; key?: string; mime?: string; ttl_days?: number } = {},
): Promise<Artifact> {
  const { content = "hello" } = options;
  const registered = await register(agent, options);
  assert.equal(await upload(registered.upload_url, content), 200);
  const committed = await commit(agent, registered, sha256(content));
  assert.equal(committed.status, 200, JSON.stringify(committed.body));
  return committed.body;
}

/** Grants `artifact` to an agent for ten minutes, or as long as said. */
export function grant(
  owner: Agent,
  artifact: { readonly artifact_id: string },
  { to, expires_at = secondsFromNow(600) }: { to: Agent; expires_at?: string },
): Promise<Grant> {
  return succeed<Grant>("/agent-artifacts/grant", {
    as: owner,
    body: { artifact_id: artifact.artifact_id, to_agent: to.id, expires_at },
  });
}

export function redeem(token: string): Promise<Answer<Access>> {
  return post<Access>("/agent-artifacts/fetch", { as: "nobody", body: { grant_token: token } });
}

export function open(as: Sender, artifact: { artifact_id: string }): Promise<Answer<Access>> {
  return post<Access>("/agent-artifacts/open", { as, body: { artifact_id: artifact.artifact_id } });
}

/** The text behind a download URL. */
export async function download(url: string): Promise<string> {
  const response = await fetch(url);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return text;
}

/** Everything that /list gives for an agent, asked as the agent. */
export async function listed(agent: Agent, prefix = ""): Promise<Artifact[]> {
  const page = await succeed<{ artifacts: Artifact[] }>("/agent-artifacts/list", {
    as: agent,
    body: { agent_id: agent.id, prefix, limit: 1000 },
  });
  return page.artifacts;
}

/** Everything that /inbox gives for an agent, asked as the agent. */
export async function inbox(agent: Agent): Promise<InboxEntry[]> {
  const page = await succeed<{ grants: InboxEntry[] }>("/agent-artifacts/inbox", {
    as: agent,
    body: { agent_id: agent.id, limit: 1000 },
  });
  return page.grants;
}
