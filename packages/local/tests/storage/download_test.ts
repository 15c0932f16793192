import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { stateFiles } from "../../state/state_files.ts";
import { errorOf, openBucket, putText, STORAGE_URL, variable } from "./own_bucket.ts";

const TEXT = "0123456789";

async function bucketWithObject() {
  const bucket = await openBucket();
  await bucket.upload("a", TEXT);
  return { bucket, url: await bucket.signDownload("a") };
}

Deno.test("GET of a signed URL → the bytes, with the headers of the object", async () => {
  const { bucket, url } = await bucketWithObject();
  const response = await fetch(url);
  const { data: info } = await bucket.client.info("a");
  assert.equal(response.status, 200);
  assert.equal(await response.text(), TEXT);
  assert.equal(response.headers.get("accept-ranges"), "bytes");
  assert.equal(response.headers.get("content-length"), "10");
  assert.equal(response.headers.get("content-type"), "text/plain");
  assert.equal(response.headers.get("etag"), info?.etag);
  assert.ok(Date.parse(response.headers.get("last-modified") ?? "") > 0);
  assert.equal(response.headers.get("x-content-type-options"), null);
  // The gateway adds this header; Storage does not send it.
  assert.equal(response.headers.get("access-control-allow-origin"), "*");
});

Deno.test("HEAD of a signed URL → the same headers and no body", async () => {
  const { url } = await bucketWithObject();
  const response = await fetch(url, { method: "HEAD" });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-length"), "10");
  assert.equal(await response.text(), "");
});

Deno.test("GET of an object whose file is lost → 500 at once", async () => {
  const { bucket, url } = await bucketWithObject();
  const { data: info } = await bucket.client.info("a");
  await rm(join(stateFiles(variable("STATE_DIR")).storage, "objects", info!.version));
  const response = await fetch(url, { signal: AbortSignal.timeout(5000) });
  assert.equal(response.status, 500);
  await response.body?.cancel();
});

for (
  const [range, body, contentRange] of [
    ["bytes=0-4", "01234", "bytes 0-4/10"],
    ["bytes=5-", "56789", "bytes 5-9/10"],
    ["bytes=-3", "789", "bytes 7-9/10"],
    ["bytes=8-100", "89", "bytes 8-9/10"],
  ] as const
) {
  Deno.test(`GET with Range ${range} → 206 ${contentRange}`, async () => {
    const { url } = await bucketWithObject();
    const response = await fetch(url, { headers: { range } });
    assert.equal(response.status, 206);
    assert.equal(response.headers.get("content-range"), contentRange);
    assert.equal(response.headers.get("content-length"), String(body.length));
    assert.equal(await response.text(), body);
  });
}

for (const range of ["bytes=10-", "bytes=0-1,3-4", "bytes=x", "bytes=-", "bytes=4-2", "junk"]) {
  Deno.test(`GET with Range ${range} → 416`, async () => {
    const { url } = await bucketWithObject();
    const response = await fetch(url, { headers: { range } });
    assert.equal(response.status, 416);
    assert.equal((await response.json()).statusCode, "416");
  });
}

Deno.test("GET with If-None-Match of the etag → 304; of another, weak or * → 200", async () => {
  const { url } = await bucketWithObject();
  const first = await fetch(url);
  await first.body?.cancel();
  const etag = first.headers.get("etag") ?? "";
  const same = await fetch(url, { headers: { "if-none-match": etag } });
  assert.equal(same.status, 304);
  assert.equal(await same.text(), "");
  for (const other of ['"another"', `W/${etag}`, "*", `"another", ${etag}`]) {
    const response = await fetch(url, { headers: { "if-none-match": other } });
    assert.equal(response.status, 200, other);
    await response.body?.cancel();
  }
});

Deno.test("GET with If-Modified-Since of the upload → 304; of a day before, or no date → 200", async () => {
  const { url } = await bucketWithObject();
  const first = await fetch(url);
  await first.body?.cancel();
  const modified = first.headers.get("last-modified") ?? "";
  const same = await fetch(url, { headers: { "if-modified-since": modified } });
  assert.equal(same.status, 304);
  assert.equal(await same.text(), "");
  const aDayBefore = new Date(Date.parse(modified) - 86_400_000).toUTCString();
  for (const since of [aDayBefore, "junk"]) {
    const response = await fetch(url, { headers: { "if-modified-since": since } });
    assert.equal(response.status, 200, since);
    await response.body?.cancel();
  }
});

Deno.test("GET of a signed URL → Expires at the token's end, x-robots-tag, no Cache-Control; with a key → Cache-Control", async () => {
  const { bucket, url } = await bucketWithObject();
  const signed = await fetch(url);
  await signed.body?.cancel();
  const claims = new URL(url).searchParams.get("token")!.split(".")[1]!;
  const { exp } = JSON.parse(Buffer.from(claims, "base64url").toString());
  assert.equal(signed.headers.get("expires"), new Date(exp * 1000).toUTCString());
  assert.equal(signed.headers.get("x-robots-tag"), "none");
  assert.equal(signed.headers.get("cache-control"), null);
  const keyed = await fetch(`${STORAGE_URL}/object/authenticated/${bucket.name}/a`, {
    headers: { apikey: variable("SUPABASE_SECRET_KEY") },
  });
  await keyed.body?.cancel();
  assert.equal(keyed.headers.get("expires"), null);
  assert.equal(keyed.headers.get("x-robots-tag"), "none");
  assert.equal(keyed.headers.get("cache-control"), "no-cache");
});

Deno.test("GET of what was uploaded as text/html → text/plain", async () => {
  const bucket = await openBucket();
  const upload = await putText(await bucket.signUpload("page"), "<p>", {
    "content-type": "text/html; charset=utf-8",
  });
  await upload.body?.cancel();
  const response = await fetch(await bucket.signDownload("page"));
  assert.equal(response.headers.get("content-type"), "text/plain");
  assert.equal(await response.text(), "<p>");
});

Deno.test("&download=<name>, which nobody signed → content-disposition with that name", async () => {
  const { url } = await bucketWithObject();
  for (const name of ["größe ü.txt", "it's (a) *.txt"]) {
    const encoded = encodeURIComponent(name);
    const response = await fetch(`${url}&download=${encoded}`);
    await response.body?.cancel();
    assert.equal(response.status, 200);
    assert.equal(
      response.headers.get("content-disposition"),
      `attachment; filename=${encoded}; filename*=UTF-8''${encoded}`,
    );
  }
});

Deno.test("&download= given twice → 400", async () => {
  const { url } = await bucketWithObject();
  const { status, code } = await errorOf(await fetch(`${url}&download=a&download=b`));
  assert.deepEqual({ status, code }, { status: 400, code: "InvalidRequest" });
});

Deno.test("GET of an object with the publishable key → NoSuchKey; info in an unknown bucket → NoSuchBucket", async () => {
  const { bucket } = await bucketWithObject();
  const get = async (path: string, key: string) => {
    const apikey = variable(key);
    const { status, statusCode, code } = await errorOf(
      await fetch(STORAGE_URL + path, { headers: { apikey } }),
    );
    return { status, statusCode, code };
  };
  for (const path of ["object/authenticated", "object/info", "object"]) {
    assert.deepEqual(
      await get(`/${path}/${bucket.name}/a`, "SUPABASE_PUBLISHABLE_KEY"),
      { status: 400, statusCode: "404", code: "NoSuchKey" },
    );
    assert.deepEqual(
      await get(`/${path}/unknown-bucket/a`, "SUPABASE_SECRET_KEY"),
      { status: 400, statusCode: "404", code: "NoSuchBucket" },
    );
  }
  assert.deepEqual(
    await get("/bucket/unknown-bucket", "SUPABASE_SECRET_KEY"),
    { status: 400, statusCode: "404", code: "NoSuchBucket" },
  );
});

Deno.test("GET with the token of another path → InvalidSignature", async () => {
  const { bucket, url } = await bucketWithObject();
  await bucket.upload("b", "secret");
  const { status, code } = await errorOf(await fetch(url.replace("/a?", "/b?")));
  assert.deepEqual({ status, code }, { status: 400, code: "InvalidSignature" });
});

Deno.test("GET with a mangled token → InvalidJWT", async () => {
  const { url } = await bucketWithObject();
  const { status, code } = await errorOf(await fetch(url.slice(0, -3)));
  assert.deepEqual({ status, code }, { status: 400, code: "InvalidJWT" });
});

Deno.test("GET with an expired token → InvalidJWT", async () => {
  const { bucket } = await bucketWithObject();
  const url = await bucket.signDownload("a", 4);
  const fresh = await fetch(url);
  await fresh.body?.cancel();
  assert.equal(fresh.status, 200);
  let response = await fetch(url);
  while (response.ok) {
    await response.body?.cancel();
    await new Promise((resolve) => setTimeout(resolve, 100));
    response = await fetch(url);
  }
  const { status, code } = await errorOf(response);
  assert.deepEqual({ status, code }, { status: 400, code: "InvalidJWT" });
});

Deno.test("createSignedUrl of nothing → NoSuchKey; for less than a second → refused", async () => {
  const { bucket } = await bucketWithObject();
  const missing = await bucket.client.createSignedUrl("nothing", 60);
  assert.equal(missing.error?.status, 400);
  assert.equal(missing.error?.statusCode, "404");
  const short = await bucket.client.createSignedUrl("a", 0);
  assert.equal(short.error?.status, 400);
});

Deno.test("GET /object/authenticated with the secret key and a Range → 206; without a key → 400", async () => {
  const { bucket } = await bucketWithObject();
  const url = `${STORAGE_URL}/object/authenticated/${bucket.name}/a`;
  const apikey = variable("SUPABASE_SECRET_KEY");
  const response = await fetch(url, { headers: { apikey, range: "bytes=2-3" } });
  assert.equal(response.status, 206);
  assert.equal(response.headers.get("content-range"), "bytes 2-3/10");
  assert.equal(await response.text(), "23");
  assert.equal((await errorOf(await fetch(url))).status, 400);
});

Deno.test("download(path).asStream() → a stream of the bytes", async () => {
  const { bucket } = await bucketWithObject();
  const { data, error } = await bucket.client.download("a").asStream();
  assert.equal(error, null);
  assert.equal(await new Response(data).text(), TEXT);
});

Deno.test("a download that began before the object was removed ends with its bytes", async () => {
  const bucket = await openBucket();
  const text = "x".repeat(8_000_000);
  await bucket.upload("large", text);
  const response = await fetch(await bucket.signDownload("large"));
  await bucket.client.remove(["large"]);
  assert.equal((await response.text()).length, text.length);
});
