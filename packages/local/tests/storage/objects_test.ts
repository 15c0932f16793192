import assert from "node:assert/strict";
import { createClient } from "@supabase/supabase-js";
import { openBucket, putText, variable, withDatabase } from "./own_bucket.ts";

Deno.test("info(path) → size, type, etag and a version that is new with every upload", async () => {
  const bucket = await openBucket();
  const url = await bucket.signUpload("a");
  await (await putText(url, "hello")).body?.cancel();
  const { data: first } = await bucket.client.info("a");
  assert.equal(first?.name, "a");
  assert.equal(first?.bucketId, bucket.name);
  assert.equal(first?.size, 5);
  assert.equal(first?.contentType, "text/plain");
  assert.ok(first?.id && first.version && first.etag && first.lastModified && first.createdAt);

  await bucket.client.remove(["a"]);
  await (await putText(url, "hello")).body?.cancel();
  const { data: second } = await bucket.client.info("a");
  assert.notEqual(second?.version, first?.version);
});

Deno.test("info(path) of nothing → HTTP 400, statusCode 404", async () => {
  const bucket = await openBucket();
  const { data, error } = await bucket.client.info("nothing");
  assert.equal(data, null);
  assert.equal(error?.status, 400);
  assert.equal(error?.statusCode, "404");
});

Deno.test("exists(path) of nothing → false and an error", async () => {
  const bucket = await openBucket();
  const { data, error } = await bucket.client.exists("nothing");
  assert.equal(data, false);
  assert.equal(error?.status, 400);
});

Deno.test("move(from, to) → the bytes at the new path under a new version, nothing at the old one", async () => {
  const bucket = await openBucket();
  await bucket.upload("from", "hello");
  const { data: before } = await bucket.client.info("from");
  const { data, error } = await bucket.client.move("from", "to/here");
  assert.equal(error, null);
  assert.equal(data?.message, "Successfully moved");
  assert.equal(await bucket.read("from"), null);
  assert.equal(await bucket.read("to/here"), "hello");
  const { data: after } = await bucket.client.info("to/here");
  assert.equal(after?.id, before?.id);
  assert.notEqual(after?.version, before?.version);
});

Deno.test("move(from, to) onto an object → 409, and both stay", async () => {
  const bucket = await openBucket();
  await bucket.upload("from", "one");
  await bucket.upload("to", "two");
  const { error } = await bucket.client.move("from", "to");
  assert.equal(error?.status, 400);
  assert.equal(error?.statusCode, "409");
  assert.equal(await bucket.read("from"), "one");
  assert.equal(await bucket.read("to"), "two");
});

Deno.test("move(from, to) of nothing → 404, and nothing appears", async () => {
  const bucket = await openBucket();
  const { error } = await bucket.client.move("nothing", "to");
  assert.equal(error?.status, 400);
  assert.equal(error?.statusCode, "404");
  assert.equal(await bucket.read("to"), null);
});

Deno.test("two moves of one object at once → one succeeds, the other 404", async () => {
  const bucket = await openBucket();
  await bucket.upload("from", "hello");
  const results = await Promise.all(["to-1", "to-2"].map((to) => bucket.client.move("from", to)));
  assert.deepEqual(results.map(({ error }) => error?.statusCode ?? "200").sort(), ["200", "404"]);
  const found = [await bucket.read("to-1"), await bucket.read("to-2")];
  assert.deepEqual(found.filter((text) => text !== null), ["hello"]);
});

Deno.test("remove(paths) → the removed rows; again → none, and no error", async () => {
  const bucket = await openBucket();
  await bucket.upload("a", "1");
  await bucket.upload("b", "2");
  const first = await bucket.client.remove(["a", "b", "nothing"]);
  assert.deepEqual(first.data?.map(({ name }) => name).sort(), ["a", "b"]);
  const second = await bucket.client.remove(["a", "b"]);
  assert.deepEqual(second.data, []);
  assert.equal(second.error, null);
  assert.equal(await bucket.read("a"), null);
});

Deno.test("remove of 1001 paths → the removed rows; of no path → refused", async () => {
  const bucket = await openBucket();
  await bucket.upload("a", "1");
  const paths = ["a", ...Array.from({ length: 1000 }, (_, index) => `x${index}`)];
  const { data } = await bucket.client.remove(paths);
  assert.deepEqual(data?.map(({ name }) => name), ["a"]);
  const { error } = await bucket.client.remove([]);
  assert.equal(error?.status, 400);
});

Deno.test("list, remove with the publishable key → nothing, and the object stays", async () => {
  const bucket = await openBucket();
  await bucket.upload("a", "1");
  const anonymous = createClient(variable("SUPABASE_URL"), variable("SUPABASE_PUBLISHABLE_KEY"))
    .storage.from(bucket.name);
  assert.deepEqual((await anonymous.list()).data, []);
  assert.deepEqual((await anonymous.remove(["a"])).data, []);
  assert.equal(await bucket.read("a"), "1");
});

Deno.test("list(folder) → the names directly under it; folders have no id", async () => {
  const bucket = await openBucket();
  for (const path of ["top", "folder/b", "folder/a", "folder/deep/c", "folder/deep/d"]) {
    await bucket.upload(path, "x");
  }
  const { data } = await bucket.client.list("folder");
  assert.deepEqual(data?.map(({ name, id }) => [name, id !== null]), [
    ["a", true],
    ["b", true],
    ["deep", false],
  ]);
  const page = await bucket.client.list("folder", {
    limit: 1,
    offset: 1,
    sortBy: { column: "name", order: "desc" },
  });
  assert.deepEqual(page.data?.map(({ name }) => name), ["b"]);
});

Deno.test("delete from storage.objects by SQL → 42501, and the object stays", async () => {
  const bucket = await openBucket();
  await bucket.upload("a", "1");
  await assert.rejects(
    withDatabase((sql) => sql`delete from storage.objects where bucket_id = ${bucket.name}`),
    { code: "42501" },
  );
  assert.equal(await bucket.read("a"), "1");
});

Deno.test("an upload's row in storage.objects → its size, type and version", async () => {
  const bucket = await openBucket();
  await bucket.upload("folder/a", "hello");
  const { data: info } = await bucket.client.info("folder/a");
  const [row] = await withDatabase((sql) =>
    sql`select name, path_tokens, version, metadata from storage.objects
        where bucket_id = ${bucket.name}`
  );
  assert.deepEqual(row?.["path_tokens"], ["folder", "a"]);
  assert.equal(row?.["version"], info?.version);
  const { lastModified, ...metadata } = row?.["metadata"] ?? {};
  assert.ok(Date.parse(lastModified) > 0);
  assert.deepEqual(metadata, {
    eTag: info?.etag,
    size: 5,
    mimetype: "text/plain",
    cacheControl: "no-cache",
    contentLength: 5,
    httpStatusCode: 200,
  });
});
