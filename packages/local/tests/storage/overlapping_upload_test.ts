import assert from "node:assert/strict";
import { awaitUploadsUnderWay, openBucket, startPut } from "./own_bucket.ts";

Deno.test("five PUTs at once → five times 200, and the last one to finish wins", async () => {
  const bucket = await openBucket();
  const url = await bucket.signUpload("a");
  const puts = ["1", "2", "3", "4", "5"].map((text) => {
    const put = startPut(url);
    put.send(text);
    return put;
  });
  await awaitUploadsUnderWay(puts.length);
  assert.equal(await bucket.read("a"), null);
  for (const index of [3, 0, 4, 1, 2]) {
    const response = await puts[index]!.finish();
    assert.equal(response.status, 200);
    await response.body?.cancel();
    assert.equal(await bucket.read("a"), String(index + 1));
  }
});

Deno.test("a PUT that began before a move and ends after it → 200 at the source path again", async () => {
  const bucket = await openBucket();
  const url = await bucket.signUpload("source");
  const slow = startPut(url);
  slow.send("attack");
  await awaitUploadsUnderWay(1);
  const quick = await fetch(url, { method: "PUT", body: "honest" });
  assert.equal(quick.status, 200);
  await quick.body?.cancel();
  await bucket.client.move("source", "target");

  const response = await slow.finish();
  assert.equal(response.status, 200);
  await response.body?.cancel();
  assert.equal(await bucket.read("source"), "attack");
  assert.equal(await bucket.read("target"), "honest");
});

Deno.test("the client goes away in the middle of a PUT → no object, and the URL still works", async () => {
  const bucket = await openBucket();
  const url = await bucket.signUpload("a");
  const put = startPut(url);
  put.send("half");
  await awaitUploadsUnderWay(1);
  await put.abort();
  await awaitUploadsUnderWay(0);
  assert.equal(await bucket.read("a"), null);

  const again = await fetch(url, { method: "PUT", body: "whole" });
  assert.equal(again.status, 200);
  await again.body?.cancel();
  assert.equal(await bucket.read("a"), "whole");
});

Deno.test("a chunked PUT without a length gets past the bucket's limit", async () => {
  const bucket = await openBucket({ sizeLimit: 4 });
  const put = startPut(await bucket.signUpload("a"));
  put.send("more than four");
  const response = await put.finish();
  assert.equal(response.status, 200);
  await response.body?.cancel();
  const { data } = await bucket.client.info("a");
  assert.equal(data?.size, 14);
});
