import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { type OwnStack, withOwnStack } from "./own_stack.ts";

const CONTENT = "hello";
const DIGEST = createHash("sha256").update(CONTENT).digest("hex");

interface Registered {
  readonly artifact_id: string;
  readonly upload_url: string;
}

async function register({ ask }: OwnStack, key: string): Promise<Registered> {
  return await ask<Registered>("/register", {
    agent_id: "planner",
    key,
    mime: "text/plain",
    size: CONTENT.length,
    ttl_days: 1,
  });
}

async function publish(own: OwnStack): Promise<Registered> {
  const registered = await register(own, "committed");
  const put = await fetch(registered.upload_url, { method: "PUT", body: CONTENT });
  assert.equal(put.status, 200, await put.text());
  await own.ask("/commit", { artifact_id: registered.artifact_id, sha256: DIGEST });
  return registered;
}

Deno.test("the bucket is missing → /register, /commit, /open, /fetch, /sweep, /health are 503 misconfigured, and no artifact changes", async () => {
  await withOwnStack(async (own) => {
    const { stack, sql } = own;
    const committed = await publish(own);
    const pending = await register(own, "pending");
    const { token } = await own.ask<{ token: string }>("/grant", {
      artifact_id: committed.artifact_id,
      to_agent: "builder",
      expires_at: new Date(Date.now() + 60_000).toISOString(),
    });
    const artifacts = () =>
      sql`select * from artifacts.artifacts where state <> 'deleted' order by artifact_id`;
    const before = await artifacts();
    await sql.begin(async (transaction) => {
      await transaction`set local storage.allow_delete_query = 'true'`;
      await transaction`delete from storage.objects`;
      await transaction`delete from storage.buckets`;
    });

    const origin = `${stack.url}/functions/v1/agent-artifacts`;
    const requests: Record<string, object | null> = {
      "/register": { agent_id: "planner", key: "k", mime: "text/plain", size: 5, ttl_days: 1 },
      "/commit": { artifact_id: pending.artifact_id, sha256: DIGEST },
      "/open": { artifact_id: committed.artifact_id },
      "/fetch": { grant_token: token },
      "/sweep": {},
      "/health": null,
    };
    for (const [path, body] of Object.entries(requests)) {
      const response = await fetch(origin + path, {
        headers: { apikey: stack.secretKey },
        ...(body === null ? {} : { method: "POST", body: JSON.stringify(body) }),
      });
      const { error } = await response.json();
      assert.equal(response.status, 503, path);
      assert.equal(error.code, "misconfigured", path);
      assert.equal(error.retryable, false, path);
      assert.match(error.message, /no bucket agent-artifacts/, path);
    }
    assert.deepEqual(await artifacts(), before);
  });
});
