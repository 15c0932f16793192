/** Artifacts of the agent `planner` on a test's separate stack. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { OwnStack } from "./own_stack.ts";

/** Registers and uploads `content`; returns the artifact's id. */
export async function register(
  { ask }: OwnStack,
  key: string,
  content = key,
): Promise<string> {
  const registered = await ask<{ artifact_id: string; upload_url: string }>("/register", {
    agent_id: "planner",
    key,
    mime: "text/plain",
    size: content.length,
    ttl_days: 30,
  });
  const uploaded = await fetch(registered.upload_url, { method: "PUT", body: content });
  assert.equal(uploaded.status, 200, await uploaded.text());
  return registered.artifact_id;
}

export async function commit(
  { ask }: OwnStack,
  artifact_id: string,
  content: string,
): Promise<void> {
  const sha256 = createHash("sha256").update(content).digest("hex");
  await ask("/commit", { artifact_id, sha256 });
}

/** Registers, uploads and commits `content`; returns the artifact's id. */
export async function publish(own: OwnStack, key: string, content = key): Promise<string> {
  const artifact_id = await register(own, key, content);
  await commit(own, artifact_id, content);
  return artifact_id;
}
