/**
 * A project that agents use. The operator fills it and reads it back, only through HTTP.
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import nacl from "tweetnacl";
import type { Stack } from "../../../packages/local/stack/stack.ts";

type Connection = Pick<Stack, "url" | "secretKey">;

const PLAN = "First the cellar, then the roof.\n";

/** Holds planner's plan, granted to builder; alpha and beta with a rule; and one agent key. */
export interface ProjectInUse {
  readonly artifactId: string;
  readonly agentKey: string;
}

/** Fills a project. */
export async function useProject(project: Connection): Promise<ProjectInUse> {
  const artifacts = "/functions/v1/agent-artifacts";
  const mesh = "/functions/v1/agent-mesh";
  const { key } = await ask<{ key: string }>(project, "/rest/v1/rpc/agent_api_create_agent_key", {
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

interface Inbox {
  readonly grants: readonly unknown[];
}

interface Configured {
  readonly config_version: number;
  readonly config: string;
}

interface Mapped {
  readonly config_version: number;
  readonly peers: unknown;
}

/** Lines that no release changes. Excludes the hooks, whose wording may change. */
const SAID_BY_EVERY_RELEASE =
  /^(?:\[|# |#nft |(?:Address|ListenPort|Table|MTU|PublicKey|PresharedKey|AllowedIPs|Endpoint|PersistentKeepalive) = )/;

/**
 * Everything that the agents see: files, bytes, grants, netmaps, configurations with their PSKs. Of
 * a configuration, it reads the lines that no release changes, and the version without the
 * release's rendering revision.
 */
export async function readProject(
  project: Connection,
  { artifactId, agentKey }: ProjectInUse,
  { renderingRevision }: { readonly renderingRevision: number },
) {
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
  const seen: Record<string, unknown> = {
    bytes: await (await fetch(url)).text(),
    list: await answer.json(),
    inbox: (await ask<Inbox>(project, `${artifacts}/inbox`, { agent_id: "builder" })).grants,
  };
  for (const agent_id of ["alpha", "beta"]) {
    // Read the configuration first: this creates the PSK that the netmap shows.
    const configured = await ask<Configured>(project, `${mesh}/wg_config`, { agent_id });
    seen[`configuration of ${agent_id}`] = {
      state_version: configured.config_version - renderingRevision,
      lines: configured.config.split("\n").filter((line) => SAID_BY_EVERY_RELEASE.test(line)),
    };
    const { config_version, ...map } = await ask<Mapped>(project, `${mesh}/netmap`, { agent_id });
    seen[`map of ${agent_id}`] = { state_version: config_version - renderingRevision, ...map };
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
