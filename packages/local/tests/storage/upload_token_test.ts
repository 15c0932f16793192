import assert from "node:assert/strict";
import { sign } from "hono/jwt";
import {
  awaitUploadsUnderWay,
  errorOf,
  jwtSecret,
  openBucket,
  putText,
  startPut,
  STORAGE_URL,
} from "./own_bucket.ts";

type Bucket = Awaited<ReturnType<typeof openBucket>>;

function uploadUrl(bucket: Bucket, path: string, token: string): string {
  return `${STORAGE_URL}/object/upload/sign/${bucket.name}/${path}?token=${token}`;
}

function tokenOf(url: string): string {
  return new URL(url).searchParams.get("token") ?? "";
}

/** An upload token that expires in `seconds` seconds. */
async function tokenFor(bucket: Bucket, path: string, seconds: number): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const claims = { url: `${bucket.name}/${path}`, upsert: false, scope: "upload" };
  return await sign({ ...claims, iat: now - 10, exp: now + seconds }, await jwtSecret(), "HS256");
}

async function assertRefused(bucket: Bucket, url: string, code: string): Promise<void> {
  const refusal = await errorOf(await putText(url, "forged"));
  assert.equal(refusal.status, 400);
  assert.equal(refusal.code, code);
  assert.equal(await bucket.read("target"), null);
}

Deno.test("PUT with the token of another path → InvalidSignature", async () => {
  const bucket = await openBucket();
  const token = tokenOf(await bucket.signUpload("other"));
  await assertRefused(bucket, uploadUrl(bucket, "target", token), "InvalidSignature");
});

Deno.test("PUT with a download token → InvalidSignature", async () => {
  const bucket = await openBucket();
  await bucket.upload("target", "x");
  const token = tokenOf(await bucket.signDownload("target"));
  await bucket.client.remove(["target"]);
  await assertRefused(bucket, uploadUrl(bucket, "target", token), "InvalidSignature");
});

Deno.test("PUT with a mangled token → InvalidJWT", async () => {
  const bucket = await openBucket();
  const token = tokenOf(await bucket.signUpload("target"));
  await assertRefused(bucket, uploadUrl(bucket, "target", token.slice(0, -3)), "InvalidJWT");
});

Deno.test("PUT with a token of another secret → InvalidJWT", async () => {
  const bucket = await openBucket();
  const claims = { url: `${bucket.name}/target`, upsert: false, scope: "upload" };
  const token = await sign({ ...claims, exp: Date.now() }, "another secret", "HS256");
  await assertRefused(bucket, uploadUrl(bucket, "target", token), "InvalidJWT");
});

Deno.test("PUT with an expired token → InvalidJWT", async () => {
  const bucket = await openBucket();
  const token = await tokenFor(bucket, "target", -1);
  await assertRefused(bucket, uploadUrl(bucket, "target", token), "InvalidJWT");
});

Deno.test("PUT without a token → InvalidRequest", async () => {
  const bucket = await openBucket();
  const url = `${STORAGE_URL}/object/upload/sign/${bucket.name}/target`;
  await assertRefused(bucket, url, "InvalidRequest");
});

Deno.test("a token that runs out during the PUT → 200: it is checked when the PUT begins", async () => {
  const bucket = await openBucket();
  // Expiry times are whole seconds, so a token of one second might already have expired.
  const seconds = 2;
  const put = startPut(uploadUrl(bucket, "target", await tokenFor(bucket, "target", seconds)));
  const end = (Math.floor(Date.now() / 1000) + seconds + 1) * 1000;
  put.send("be");
  await awaitUploadsUnderWay(1);
  while (Date.now() < end) await new Promise((resolve) => setTimeout(resolve, end - Date.now()));
  put.send("gun");
  const response = await put.finish();
  assert.equal(response.status, 200);
  await response.body?.cancel();
  assert.equal(await bucket.read("target"), "begun");
});
