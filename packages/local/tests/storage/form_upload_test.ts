/** Signed PUTs of multipart/form-data, as supabase-js, browsers and Python's requests send them. */
import assert from "node:assert/strict";
import { awaitUploadsUnderWay, errorOf, openBucket, startPut, STORAGE_URL } from "./own_bucket.ts";

type Bucket = Awaited<ReturnType<typeof openBucket>>;

/** What Python's `requests.put(url, files={"file": open("plan.txt", "rb")})` sends. */
const BOUNDARY = "0f5a47fd8a4b4e7f9e1b0c6f2d3a1b5c";
const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;
const FILE_HEAD =
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="plan.txt"\r\n\r\n`;
const END = `\r\n--${BOUNDARY}--\r\n`;

function putForm(url: string, body: string, contentType = FORM_TYPE): Promise<Response> {
  return fetch(url, { method: "PUT", body, headers: { "content-type": contentType } });
}

async function uploadSigned(bucket: Bucket, path: string, file: Blob | FormData, options = {}) {
  const { data } = await bucket.client.createSignedUploadUrl(path);
  return await bucket.client.uploadToSignedUrl(path, data!.token, file, options);
}

Deno.test("uploadToSignedUrl(Blob) → its bytes, its type and the default cache time", async () => {
  const bucket = await openBucket();
  const { data, error } = await uploadSigned(
    bucket,
    "folder/a",
    new Blob(["<p>hello</p>"], { type: "text/html" }),
  );
  assert.equal(error, null);
  assert.equal(data?.fullPath, `${bucket.name}/folder/a`);
  assert.equal(await bucket.read("folder/a"), "<p>hello</p>");
  const { data: info } = await bucket.client.info("folder/a");
  assert.equal(info?.size, 12);
  assert.equal(info?.contentType, "text/html");
  assert.equal(info?.cacheControl, "max-age=3600");
});

Deno.test("uploadToSignedUrl(File, {cacheControl, metadata}) → stored with the object", async () => {
  const bucket = await openBucket();
  const file = new File(["a,b"], "größe.csv", { type: "text/csv" });
  const metadata = { author: "planner" };
  const { error } = await uploadSigned(bucket, "a", file, { cacheControl: "60", metadata });
  assert.equal(error, null);
  const { data: info } = await bucket.client.info("a");
  assert.equal(info?.contentType, "text/csv");
  assert.equal(info?.cacheControl, "max-age=60");
  assert.deepEqual(info?.metadata, metadata);
  assert.equal(await bucket.read("a"), "a,b");
});

Deno.test("uploadToSignedUrl(FormData) → the file in it, whatever its part is called", async () => {
  const bucket = await openBucket();
  const form = new FormData();
  form.append("note", "no file");
  form.append("attachment", new Blob(["bytes"]), "a.bin");
  const { error } = await uploadSigned(bucket, "a", form);
  assert.equal(error, null);
  assert.equal(await bucket.read("a"), "bytes");
  const { data: info } = await bucket.client.info("a");
  assert.equal(info?.contentType, "application/octet-stream");
});

Deno.test("uploadToSignedUrl(Blob) of 20 MB, and of no bytes → objects with exactly these bytes", async () => {
  const bucket = await openBucket();
  const bytes = crypto.getRandomValues(new Uint8Array(65_536));
  const blob = new Blob(Array.from({ length: 320 }, () => bytes));
  assert.equal((await uploadSigned(bucket, "large", blob)).error, null);
  const { data } = await bucket.client.download("large");
  assert.deepEqual(await digest(data!), await digest(blob));

  assert.equal((await uploadSigned(bucket, "empty", new Blob([]))).error, null);
  assert.equal(await bucket.read("empty"), "");
});

async function digest(blob: Blob): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", await blob.arrayBuffer()));
}

Deno.test("PUT as Python's requests sends files= → the file, as text/plain and no-cache", async () => {
  const bucket = await openBucket();
  const text = `line\r\n--${BOUNDARY.slice(0, -1)}\r\n\r\nlast`;
  const response = await putForm(await bucket.signUpload("a"), FILE_HEAD + text + END);
  assert.equal(response.status, 200);
  assert.deepEqual(await response.json(), { Key: `${bucket.name}/a` });
  assert.equal(await bucket.read("a"), text);
  const { data: info } = await bucket.client.info("a");
  assert.equal(info?.contentType, "text/plain");
  assert.equal(info?.cacheControl, "no-cache");
});

Deno.test("PUT of a form with two files → the first", async () => {
  const bucket = await openBucket();
  const body = `${FILE_HEAD}first\r\n${FILE_HEAD}second${END}`;
  const response = await putForm(await bucket.signUpload("a"), body);
  await response.body?.cancel();
  assert.equal(response.status, 200);
  assert.equal(await bucket.read("a"), "first");
});

Deno.test("PUT of a form → its bytes are on the disk before the form ends", async () => {
  const bucket = await openBucket();
  const put = startPut(await bucket.signUpload("a"), { "content-type": FORM_TYPE });
  put.send(`${FILE_HEAD}first half, `);
  // The parser holds back bytes that may begin a boundary, so send more than that.
  put.send("-".repeat(200));
  await awaitUploadsUnderWay(1);
  assert.equal(await bucket.read("a"), null);
  put.send(`second half${END}`);
  const response = await put.finish();
  await response.body?.cancel();
  assert.equal(response.status, 200);
  assert.equal(await bucket.read("a"), `first half, ${"-".repeat(200)}second half`);
});

Deno.test("a second PUT of a form → KeyAlreadyExists, and the first bytes stay", async () => {
  const bucket = await openBucket();
  const url = await bucket.signUpload("a");
  await (await putForm(url, `${FILE_HEAD}first${END}`)).body?.cancel();
  const refusal = await errorOf(await putForm(url, `${FILE_HEAD}second${END}`));
  assert.equal(refusal.code, "KeyAlreadyExists");
  assert.equal(refusal.statusCode, "409");
  assert.equal(await bucket.read("a"), "first");
});

for (const [name, length] of [["one byte", 11], ["20 MB", 20_000_000]] as const) {
  Deno.test(`PUT of a form whose file is ${name} above the limit → EntityTooLarge, nothing stored`, async () => {
    const bucket = await openBucket({ sizeLimit: name === "one byte" ? 10 : 1000 });
    const body = FILE_HEAD + "x".repeat(length) + END;
    const { status, statusCode, code } = await errorOf(
      await putForm(await bucket.signUpload("big"), body),
    );
    assert.deepEqual({ status, statusCode, code }, {
      status: 400,
      statusCode: "413",
      code: "EntityTooLarge",
    });
    assert.equal(await bucket.read("big"), null);
    await awaitUploadsUnderWay(0);
  });
}

Deno.test("PUT of a form whose file is as large as the limit → 200: the form's own bytes do not count", async () => {
  const bucket = await openBucket({ sizeLimit: 10 });
  const response = await putForm(await bucket.signUpload("a"), `${FILE_HEAD}0123456789${END}`);
  await response.body?.cancel();
  assert.equal(response.status, 200);
  assert.equal(await bucket.read("a"), "0123456789");
});

Deno.test("PUT of a chunked form above the limit → EntityTooLarge, unlike a chunked raw body", async () => {
  const bucket = await openBucket({ sizeLimit: 4 });
  const put = startPut(await bucket.signUpload("a"), { "content-type": FORM_TYPE });
  put.send(`${FILE_HEAD}more than four${END}`);
  assert.equal((await errorOf(await put.finish())).code, "EntityTooLarge");
  assert.equal(await bucket.read("a"), null);
});

for (
  const [name, body, contentType] of [
    [
      "with fields only",
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="a"\r\n\r\nvalue${END}`,
      FORM_TYPE,
    ],
    ["without parts", `--${BOUNDARY}--\r\n`, FORM_TYPE],
    ["without a byte", "", FORM_TYPE],
    ["that is no form", "hello", FORM_TYPE],
    ["whose header names no boundary", `${FILE_HEAD}hello${END}`, "multipart/form-data"],
  ] as const
) {
  Deno.test(`PUT of a form ${name} → InvalidRequest, nothing stored, and the URL still works`, async () => {
    const bucket = await openBucket();
    const url = await bucket.signUpload("a");
    const { status, statusCode, code } = await errorOf(await putForm(url, body, contentType));
    assert.deepEqual({ status, statusCode, code }, {
      status: 400,
      statusCode: "400",
      code: "InvalidRequest",
    });
    assert.equal(await bucket.read("a"), null);
    const again = await putForm(url, `${FILE_HEAD}whole${END}`);
    await again.body?.cancel();
    assert.equal(again.status, 200);
  });
}

Deno.test("PUT of a form that lacks its end → 500 InternalError, nothing stored", async () => {
  const bucket = await openBucket();
  const response = await putForm(await bucket.signUpload("a"), `${FILE_HEAD}half`);
  const { status, code } = await errorOf(response);
  assert.deepEqual({ status, code }, { status: 500, code: "InternalError" });
  assert.equal(await bucket.read("a"), null);
  await awaitUploadsUnderWay(0);
});

Deno.test("the client goes away in the middle of a form → no object, and the URL still works", async () => {
  const bucket = await openBucket();
  const url = await bucket.signUpload("a");
  const put = startPut(url, { "content-type": FORM_TYPE });
  put.send(FILE_HEAD + "half".repeat(100));
  await awaitUploadsUnderWay(1);
  await put.abort();
  await awaitUploadsUnderWay(0);
  assert.equal(await bucket.read("a"), null);

  const again = await putForm(url, `${FILE_HEAD}whole${END}`);
  await again.body?.cancel();
  assert.equal(again.status, 200);
  assert.equal(await bucket.read("a"), "whole");
});

Deno.test("PUT of a form with the token of another path → InvalidSignature, nothing stored", async () => {
  const bucket = await openBucket();
  const { search } = new URL(await bucket.signUpload("other"));
  const url = `${STORAGE_URL}/object/upload/sign/${bucket.name}/target${search}`;
  const refusal = await errorOf(await putForm(url, `${FILE_HEAD}forged${END}`));
  assert.equal(refusal.code, "InvalidSignature");
  assert.equal(await bucket.read("target"), null);
});
