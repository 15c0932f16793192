/**
 * A project that agents use: what it holds, put there and read back by the operator over HTTP
 * alone.
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import nacl from "tweetnacl";
import type { Stack } from "../../dev/stack/stack.ts";

type Connection = Pick<Stack, "url" | "secretKey">;

const PLAN = "First the cellar, then the roof.\n";

/** planner's plan, granted to builder; alpha and beta, who may reach each other; one agent key. */
export interface ProjectInUse {
  readonly artifactId: string;
  readonly agentKey: string;
}

/** Fills a project in. */
export async function useProject(project: Connection): Promise<ProjectInUse> {
  const artifacts = "/functions/v1/agent-artifacts";
  const mesh = "/functions/v1/agent-mesh";
  const { key } = await ask<{ key: string }>(project, "/rest/v1/rpc/create_agent_key", {
    agent_id: "planner",
  });
  const { artifact_id, upload_url } = await ask<{ artifact_id: string; upload_url: string }>(
    project,
    `${artifacts}/register`,
    {
      agent_id: "planner",
      key: "plans/house.txt",
      mime: "text/plain",
      size: PLAN.length,
      ttl_days: 7,
    },
  );
  const uploaded = await fetch(upload_url, { method: "PUT", body: PLAN });
  assert.equal(uploaded.status, 200, await uploaded.text());
  const sha256 = createHash("sha256").update(PLAN).digest("hex");
  await ask(project, `${artifacts}/commit`, { artifact_id, sha256 });
  await ask(project, `${artifacts}/grant`, {
    artifact_id,
    to_agent: "builder",
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
  });
  for (const agent_id of ["alpha", "beta"]) {
    const pubkey = Buffer.from(nacl.box.keyPair().publicKey).toString("base64");
    await ask(project, `${mesh}/peer/register`, { agent_id, pubkey });
  }
  await ask(project, `${mesh}/acl/put`, {
    from_agent: "beta",
    to_agent: "alpha",
    port: 443,
    proto: "tcp",
  });
  return { artifactId: artifact_id, agentKey: key };
}

/** Answers of the functions, by what they show. */
export type SeenOfProject = Record<string, unknown>;

/**
 * Everything that its agents see of it: files, bytes, grants, maps, configurations with their PSKs.
 */
export async function readProject(
  project: Connection,
  { artifactId, agentKey }: ProjectInUse,
): Promise<SeenOfProject> {
  const artifacts = "/functions/v1/agent-artifacts";
  const mesh = "/functions/v1/agent-mesh";
  const { url } = await ask<{ url: string }>(project, `${artifacts}/open`, {
    artifact_id: artifactId,
  });
  const answer = await fetch(`${project.url}${artifacts}/list`, {
    method: "POST",
    headers: { authorization: `Bearer ${agentKey}` },
    body: JSON.stringify({ agent_id: "planner" }),
  });
  // The position is of the moment, and names no content.
  const { latest: _, ...inbox } = await ask<{ latest?: string }>(project, `${artifacts}/inbox`, {
    agent_id: "builder",
  });
  const seen: SeenOfProject = {
    bytes: await (await fetch(url)).text(),
    list: await answer.json(),
    inbox,
  };
  for (const agent_id of ["alpha", "beta"]) {
    // The configuration first: it makes the PSK that the map counts.
    seen[`configuration of ${agent_id}`] = await ask(project, `${mesh}/wg_config`, { agent_id });
    seen[`map of ${agent_id}`] = await ask(project, `${mesh}/netmap`, { agent_id });
  }
  assert.equal(seen["bytes"], PLAN);
  assert.equal(answer.status, 200, JSON.stringify(seen["list"]));
  return seen;
}

async function ask<AnswerBody>(
  project: Connection,
  path: string,
  body: object,
): Promise<AnswerBody> {
  const response = await fetch(project.url + path, {
    method: "POST",
    headers: { apikey: project.secretKey, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  assert.equal(response.status, 200, `${path}: ${text}`);
  return JSON.parse(text) as AnswerBody;
}
