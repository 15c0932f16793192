import assert from "node:assert/strict";
import { createClient, type FunctionsHttpError, type SupabaseClient } from "@supabase/supabase-js";
import { artifactTest, listed, publish, sha256 } from "../conformance/artifacts.ts";
import { operatorRpc, PUBLISHABLE_KEY, SUPABASE_URL } from "../conformance/client.ts";
import { newName, signIn, type UserAgent } from "./signed_in.ts";

const NOT_KEPT = { persistSession: false, autoRefreshToken: false };

/** A client with a signed-in user. */
async function clientOf(user: UserAgent): Promise<SupabaseClient> {
  const client = createClient(SUPABASE_URL, PUBLISHABLE_KEY!, { auth: NOT_KEPT });
  const { error } = await client.auth.setSession({ access_token: user.key, refresh_token: "none" });
  assert.equal(error, null);
  return client;
}

artifactTest(
  "functions.invoke of a signed-in supabase-js client → its agent's list, with nothing else set",
  async ({ planner }) => {
    const { key } = await publish(planner);
    const user = await signIn(planner);
    const byToken = createClient(SUPABASE_URL, PUBLISHABLE_KEY!, {
      accessToken: () => Promise.resolve(user.key),
    });
    for (const client of [await clientOf(user), byToken]) {
      const { data, error } = await client.functions.invoke("agent-artifacts/list", { body: {} });
      assert.equal(error, null);
      assert.deepEqual(data.artifacts.map((artifact: { key: string }) => artifact.key), [key]);
    }
  },
);

Deno.test("getUser and getClaims of a signed-in supabase-js client → the user, as the token has it", async () => {
  const user = await signIn(newName("ada"));
  const client = await clientOf(user);
  const { data: { user: found } } = await client.auth.getUser();
  assert.deepEqual([found?.id, found?.app_metadata["agent_id"]], [user.sub, user.id]);
  const { data } = await client.auth.getClaims();
  assert.equal(data?.claims.sub, user.sub);
});

Deno.test("a file by supabase-js alone: /register, uploadToSignedUrl, /commit → the user's", async () => {
  const user = await signIn(newName("ada"));
  const client = await clientOf(user);
  async function invoke(path: string, body: object) {
    const { data, error } = await client.functions.invoke(`agent-artifacts/${path}`, { body });
    assert.equal(error, null);
    return data;
  }
  const description = { key: "notes/hello.txt", mime: "text/plain", size: 5, ttl_days: 1 };
  const { artifact_id, upload } = await invoke("register", description);
  const { error } = await client.storage.from(upload.bucket)
    .uploadToSignedUrl(upload.path, upload.token, new Blob(["hello"]));
  assert.equal(error, null);
  await invoke("commit", { artifact_id, sha256: sha256("hello") });
  assert.deepEqual((await listed(user)).map(({ key }) => key), [description.key]);
  const { url } = await invoke("open", { artifact_id });
  assert.equal(await (await fetch(url)).text(), "hello");
  await operatorRpc("remove_agent", { agent_id: user.id });
});

Deno.test("functions.invoke by a user who is not an agent → 401, which says what is missing", async () => {
  const client = await clientOf(await signIn({ id: "-not a name-" }));
  const { error } = await client.functions.invoke("agent-artifacts/list", { body: {} });
  const response: Response = (error as FunctionsHttpError).context;
  assert.equal(response.status, 401);
  assert.match((await response.json()).error.message, /app_metadata\.agent_id/);
});
