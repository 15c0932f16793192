import { StorageClient } from "@supabase/storage-js";
import assert from "node:assert/strict";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { startStorage } from "../../storage/server.ts";
import { jwtSecret, openBucket, variable } from "./own_bucket.ts";

const COPY_MILLISECONDS = 1000;

/** Starts a separate Storage that moves objects by copying. It has one object at `from`. */
async function startCopyingStorage() {
  const directory = await Deno.makeTempDir();
  const databaseUrl = new URL(variable("SUPABASE_DB_URL"));
  databaseUrl.username = "supabase_storage_admin";
  const server = await startStorage(
    { durable: false, storageSizeLimit: 1024, storageCopyMilliseconds: COPY_MILLISECONDS },
    { directory, databaseUrl: databaseUrl.href, jwtSecret: await jwtSecret() },
  );
  const { name } = await openBucket();
  const url = `http://127.0.0.1:${server.port}`;
  const headers = { authorization: `Bearer ${variable("SUPABASE_SERVICE_ROLE_KEY")}` };
  const client = new StorageClient(url, headers).from(name);
  const { data } = await client.createSignedUploadUrl("from");
  await client.uploadToSignedUrl("from", data!.token, "hello");
  return {
    client,
    /** Moves `from`. The caller hangs up when `signal` is aborted. */
    move(to: string, signal: AbortSignal): Promise<Response> {
      return fetch(`${url}/object/move`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ bucketId: name, sourceKey: "from", destinationKey: to }),
        signal,
      });
    },
    /** The number of files on the disk. */
    files: async () => (await readdir(join(directory, "objects"))).length,
    async [Symbol.asyncDispose]() {
      await client.remove(["from", "to", "to-1", "to-2"]);
      await server.stop();
      await rm(directory, { recursive: true });
    },
  };
}

Deno.test("two copying moves of one object → one succeeds, the other 404; a surplus file stays", async () => {
  await using storage = await startCopyingStorage();
  const results = await Promise.all(
    ["to-1", "to-2"].map((to) => storage.client.move("from", to)),
  );
  assert.deepEqual(results.map(({ error }) => error?.statusCode ?? "200").sort(), ["200", "404"]);
  assert.equal(await storage.files(), 2);
});

Deno.test("a copying move whose caller hangs up → goes on to its end; one file", async () => {
  await using storage = await startCopyingStorage();
  const caller = new AbortController();
  const moving = storage.move("to", caller.signal);
  while (await storage.files() === 1) await new Promise((resolve) => setTimeout(resolve, 5));
  caller.abort();
  await assert.rejects(moving);
  while ((await storage.client.info("to")).error) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.equal((await storage.client.info("from")).error?.statusCode, "404");
  while (await storage.files() > 1) await new Promise((resolve) => setTimeout(resolve, 5));
});
