/** The agents of the artifact tests, and the requests that they send. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type {
  Artifact,
  Download,
  GivenGrantsPage,
  Grant,
  Identified,
  InboxEntry,
  InboxPage,
  ListPage,
  Registered,
} from "./artifact_answers.ts";
import {
  type Agent,
  type Answer,
  createAgent,
  operatorRpc,
  post,
  type Sender,
  succeed,
} from "./client.ts";

export type * from "./artifact_answers.ts";

/** The planner owns artifacts, the builder gets grants, and the stranger has neither. */
export interface Cast {
  readonly planner: Agent;
  readonly builder: Agent;
  readonly stranger: Agent;
}

const registeredIds = new Set<string>();

/** A test with new agents. Their artifacts and keys are removed at its end. */
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
        await deleteArtifact("operator", { artifact_id });
      }
      // This also removes artifacts that were registered by MCP.
      for (const agent of [planner, builder, stranger]) {
        await operatorRpc("remove_agent", { agent_id: agent.id });
      }
    }
  });
}

/** The SHA-256 of bytes or of a text in UTF-8, in lower-case hex. */
export function sha256(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** The time `seconds` from now, in the format of requests. */
export function secondsFromNow(seconds: number): string {
  return new Date(Date.now() + seconds * 1000).toISOString();
}

/** The properties of an artifact that a test may choose. */
export interface Publication {
  readonly content?: string;
  readonly key?: string;
  readonly mime?: string;
  readonly ttl_days?: number;
  /** Optional fields of /register. */
  readonly further?: object;
}

/** Registers an artifact of the agent, with the size of `content`. */
export async function register(
  agent: Agent,
  { content = "hello", key = "notes/hello.txt", mime = "text/plain", ttl_days = 7, further }:
    Publication = {},
): Promise<Registered> {
  const size = new TextEncoder().encode(content).byteLength;
  const body = { agent_id: agent.id, key, mime, size, ttl_days, ...further };
  const answer = await tryRegister(agent, body);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

/** Sends any body to /register. What it registers is deleted at the end of the test. */
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

/** Registers and uploads `content`, without /commit. */
export async function registerAndUpload(
  agent: Agent,
  publication: Publication = {},
): Promise<Registered> {
  const registered = await register(agent, publication);
  assert.equal(await upload(registered.upload_url, publication.content ?? "hello"), 200);
  return registered;
}

export function commit(
  as: Sender,
  artifact: Identified,
  digest: string,
): Promise<Answer<Artifact>> {
  const body = { artifact_id: artifact.artifact_id, sha256: digest };
  return post<Artifact>("/agent-artifacts/commit", { as, body });
}

/** Registers, uploads and commits `content`. */
export async function publish(agent: Agent, publication: Publication = {}): Promise<Artifact> {
  const registered = await registerAndUpload(agent, publication);
  const committed = await commit(agent, registered, sha256(publication.content ?? "hello"));
  assert.equal(committed.status, 200, JSON.stringify(committed.body));
  return committed.body;
}

/**
 * The terms of a grant. By default it is for anyone with the token, and expires in ten minutes.
 */
interface GrantTerms {
  readonly to?: Pick<Agent, "id">;
  readonly expires_at?: unknown;
  /** The other fields of the operation. */
  readonly [field: string]: unknown;
}

/** Grants `artifact`; anything but 200 fails the test. */
export async function grant(
  owner: Agent,
  artifact: Identified,
  terms: GrantTerms,
): Promise<Grant> {
  const answer = await tryGrant(owner, artifact, terms);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

/** Calls /grant, which may fail. */
export function tryGrant(
  as: Sender,
  { artifact_id }: Identified,
  { to, expires_at = secondsFromNow(600), ...terms }: GrantTerms,
): Promise<Answer<Grant>> {
  const body = { artifact_id, to_agent: to?.id, expires_at, ...terms };
  return post<Grant>("/agent-artifacts/grant", { as, body });
}

/** Calls /revoke, with a grant's id or with an artifact and an agent. */
export function revoke(as: Sender, body: object): Promise<Answer> {
  return post("/agent-artifacts/revoke", { as, body });
}

/** The grants that /grants lists for the agent. */
export function givenGrants(agent: Agent, body: object = {}): Promise<GivenGrantsPage> {
  return succeed<GivenGrantsPage>("/agent-artifacts/grants", { as: agent, body });
}

export function deleteArtifact(
  as: Sender,
  { artifact_id }: Identified,
): Promise<Answer<Artifact>> {
  return post<Artifact>("/agent-artifacts/delete", { as, body: { artifact_id } });
}

/** What a download and an entry of an inbox have of an artifact: all but what its owner is told. */
export function contentOf(artifact: Artifact): object {
  const { agent_id: _owner, ttl_days: _days, state: _state, ...rest } = artifact;
  const { created_at: _created, committed_at: _committed, expires_at: _end, ...content } = rest;
  return content;
}

/** Calls /fetch with a grant's token and no other credential. */
export function redeem(token: string): Promise<Answer<Download>> {
  return post<Download>("/agent-artifacts/fetch", { as: "nobody", body: { grant_token: token } });
}

export function open(as: Sender, { artifact_id }: Identified): Promise<Answer<Download>> {
  return post<Download>("/agent-artifacts/open", { as, body: { artifact_id } });
}

/** The text behind a download URL. */
export async function download(url: string): Promise<string> {
  const response = await fetch(url);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return text;
}

/** The agent's artifacts, according to /list. */
export async function listed(agent: Agent, prefix = ""): Promise<Artifact[]> {
  const body = { agent_id: agent.id, prefix, limit: 1000 };
  return (await succeed<ListPage>("/agent-artifacts/list", { as: agent, body })).artifacts;
}

/** The agent's inbox, according to /inbox. */
export async function inbox(agent: Agent): Promise<InboxEntry[]> {
  const body = { agent_id: agent.id, limit: 1000 };
  return (await succeed<InboxPage>("/agent-artifacts/inbox", { as: agent, body })).grants;
}

/** Runs `refused`, and asserts that what these agents own and were granted is as before. */
export async function leavesUnchanged(
  agents: readonly Agent[],
  refused: () => Promise<unknown>,
): Promise<void> {
  const before = await everythingOf(agents);
  await refused();
  assert.deepEqual(await everythingOf(agents), before);
}

/** Reads as the operator, because a test may revoke the agent's own key. */
async function everythingOf(agents: readonly Agent[]): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const path of ["list", "inbox"]) {
    for (const { id } of agents) {
      const body = { agent_id: id, limit: 1000 };
      const answer = await succeed(`/agent-artifacts/${path}`, { as: "operator", body });
      // The position advances with any agent's events.
      delete answer["latest"];
      answers.push(answer);
    }
  }
  return answers;
}
