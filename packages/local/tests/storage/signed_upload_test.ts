import assert from "node:assert/strict";
import { decode } from "hono/jwt";
import { errorOf, openBucket, putText, STORAGE_URL, variable } from "./own_bucket.ts";

Deno.test("POST /object/upload/sign → a token for this path alone, for 7200 s", async () => {
  const bucket = await openBucket();
  const response = await fetch(`${STORAGE_URL}/object/upload/sign/${bucket.name}/a/b`, {
    method: "POST",
    headers: { apikey: variable("SUPABASE_SECRET_KEY") },
  });
  const { url, token } = await response.json();
  assert.equal(response.status, 200);
  assert.equal(url, `/object/upload/sign/${bucket.name}/a/b?token=${token}`);
  const { header, payload } = decode(token);
  assert.equal(header.alg, "HS256");
  assert.equal(payload["url"], `${bucket.name}/a/b`);
  assert.equal(payload["scope"], "upload");
  assert.equal(payload["upsert"], false);
  assert.equal(payload.exp! - payload.iat!, 7200);
});

Deno.test("POST /object/upload/sign of an existing object → 409", async () => {
  const bucket = await openBucket();
  await bucket.upload("a", "first");
  const { data, error } = await bucket.client.createSignedUploadUrl("a");
  assert.equal(data, null);
  assert.equal(error?.status, 400);
  assert.equal(error?.statusCode, "409");
});

Deno.test("POST /object/upload/sign in an unknown bucket → InvalidRequest, 404", async () => {
  const response = await fetch(`${STORAGE_URL}/object/upload/sign/no-such-bucket/a`, {
    method: "POST",
    headers: { apikey: variable("SUPABASE_SECRET_KEY") },
  });
  const { status, statusCode, code } = await errorOf(response);
  assert.deepEqual({ status, statusCode, code }, {
    status: 400,
    statusCode: "404",
    code: "InvalidRequest",
  });
});

Deno.test("POST /object/upload/sign with the publishable key → refused; with none → refused", async () => {
  const bucket = await openBucket();
  const url = `${STORAGE_URL}/object/upload/sign/${bucket.name}/a`;
  const publishable = await errorOf(
    await fetch(url, {
      method: "POST",
      headers: { apikey: variable("SUPABASE_PUBLISHABLE_KEY") },
    }),
  );
  assert.equal(publishable.status, 400);
  assert.equal(publishable.statusCode, "403");
  assert.equal((await errorOf(await fetch(url, { method: "POST" }))).status, 400);
});

Deno.test("PUT with an invalid content type → 415 in the body, and nothing is stored", async () => {
  const bucket = await openBucket();
  const url = await bucket.signUpload("a");
  for (const garbage of ["garbage", "text/", "/plain", "text/plain text"]) {
    const { status, statusCode, code } = await errorOf(
      await putText(url, "hello", { "content-type": garbage }),
    );
    assert.deepEqual({ status, statusCode, code }, {
      status: 400,
      statusCode: "415",
      code: "InvalidMimeType",
    }, garbage);
  }
  assert.equal(await bucket.read("a"), null);
});

Deno.test("PUT of a signed upload URL with no credential → 200 and the key", async () => {
  const bucket = await openBucket();
  const response = await putText(await bucket.signUpload("a/b"), "hello");
  assert.equal(response.status, 200);
  assert.deepEqual(await response.json(), { Key: `${bucket.name}/a/b` });
  assert.equal(await bucket.read("a/b"), "hello");
});

Deno.test("PUT with a bogus credential → ignored", async () => {
  const bucket = await openBucket();
  const url = await bucket.signUpload("a");
  const response = await putText(url, "hello", {
    authorization: "Bearer nonsense",
    apikey: "sb_secret_nonsense",
  });
  assert.equal(response.status, 200);
  await response.body?.cancel();
  assert.equal(await bucket.read("a"), "hello");
});

Deno.test("PUT keeps the Content-Type as given, and application/octet-stream without one", async () => {
  const bucket = await openBucket();
  const typed = await putText(await bucket.signUpload("typed"), "x", {
    "content-type": "text/x-anything; charset=odd",
  });
  await typed.body?.cancel();
  const untyped = await fetch(await bucket.signUpload("untyped"), {
    method: "PUT",
    body: new TextEncoder().encode("x"),
  });
  await untyped.body?.cancel();
  const { data: typedInfo } = await bucket.client.info("typed");
  const { data: untypedInfo } = await bucket.client.info("untyped");
  assert.equal(typedInfo?.contentType, "text/x-anything; charset=odd");
  assert.equal(untypedInfo?.contentType, "application/octet-stream");
});

Deno.test("PUT of zero bytes → an object of size 0", async () => {
  const bucket = await openBucket();
  const response = await fetch(await bucket.signUpload("empty"), { method: "PUT" });
  assert.equal(response.status, 200);
  await response.body?.cancel();
  const { data } = await bucket.client.info("empty");
  assert.equal(data?.size, 0);
  assert.equal(await bucket.read("empty"), "");
});

Deno.test("a second PUT → KeyAlreadyExists, x-upsert or not, and the first bytes stay", async () => {
  const bucket = await openBucket();
  const url = await bucket.signUpload("a");
  await (await putText(url, "first")).body?.cancel();
  for (const headers of [{}, { "x-upsert": "true" }]) {
    assert.deepEqual(await errorOf(await putText(url, "second", headers)), {
      status: 400,
      statusCode: "409",
      error: "Duplicate",
      message: "The resource already exists",
      code: "KeyAlreadyExists",
    });
  }
  assert.equal(await bucket.read("a"), "first");
});

Deno.test("PUT after the object was removed → 200 again", async () => {
  const bucket = await openBucket();
  const url = await bucket.signUpload("a");
  await (await putText(url, "first")).body?.cancel();
  await bucket.client.remove(["a"]);
  const again = await putText(url, "again");
  assert.equal(again.status, 200);
  await again.body?.cancel();
  assert.equal(await bucket.read("a"), "again");
});

Deno.test("PUT after the object was moved away → 200 again, and the moved object keeps its bytes", async () => {
  const bucket = await openBucket();
  const url = await bucket.signUpload("a");
  await (await putText(url, "first")).body?.cancel();
  await bucket.client.move("a", "moved");
  const again = await putText(url, "again");
  assert.equal(again.status, 200);
  await again.body?.cancel();
  assert.equal(await bucket.read("a"), "again");
  assert.equal(await bucket.read("moved"), "first");
});

Deno.test("PUT above the bucket's limit → EntityTooLarge, and nothing is stored", async () => {
  const bucket = await openBucket({ sizeLimit: 10 });
  const { status, statusCode, code } = await errorOf(
    await putText(await bucket.signUpload("big"), "eleven char"),
  );
  assert.deepEqual({ status, statusCode, code }, {
    status: 400,
    statusCode: "413",
    code: "EntityTooLarge",
  });
  assert.equal(await bucket.read("big"), null);
});

Deno.test("PUT far above the limit → EntityTooLarge, not a broken connection", async () => {
  const bucket = await openBucket({ sizeLimit: 10 });
  const url = await bucket.signUpload("big");
  for (let attempt = 0; attempt < 3; attempt++) {
    const response = await fetch(url, { method: "PUT", body: new Uint8Array(20_000_000) });
    assert.equal((await errorOf(response)).code, "EntityTooLarge");
  }
  assert.equal(await bucket.read("big"), null);
});

Deno.test("a path with other characters signs, and its PUT → InvalidKey", async () => {
  const bucket = await openBucket();
  const { status, code } = await errorOf(await putText(await bucket.signUpload("schlüssel"), "x"));
  assert.deepEqual({ status, code }, { status: 400, code: "InvalidKey" });
  assert.equal(await bucket.read("schlüssel"), null);
});
