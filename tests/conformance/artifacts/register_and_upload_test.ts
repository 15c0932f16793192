import assert from "node:assert/strict";
import { createClient } from "@supabase/supabase-js";
import { assertError, PUBLISHABLE_KEY, SUPABASE_URL } from "../client.ts";
import {
  artifactTest,
  commit,
  download,
  listed,
  open,
  publish,
  register,
  registerAndUpload,
  sha256,
  tryRegister,
  upload,
} from "../artifacts.ts";

artifactTest(
  "/register → the pending artifact, and where to PUT its bytes",
  async ({ planner }) => {
    const answer = await tryRegister(planner, {
      agent_id: planner.id,
      key: "reports/july.pdf",
      mime: "application/pdf",
      size: 5,
      ttl_days: 30,
    });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const { artifact_id, created_at, upload_url, upload, upload_expires_at, ...rest } = answer.body;
    assert.deepEqual(rest, {
      agent_id: planner.id,
      key: "reports/july.pdf",
      mime: "application/pdf",
      size: 5,
      ttl_days: 30,
      sha256: null,
      state: "pending",
      committed_at: null,
      expires_at: null,
      version: null,
      metadata: {},
    });
    assert.match(artifact_id, /^art_/);
    assert.ok(Math.abs(Date.parse(created_at) - Date.now()) < 60_000);
    assert.ok(
      upload_url.startsWith(`${SUPABASE_URL}/storage/v1/`),
      "at the origin that callers use",
    );
    assert.equal(upload_url.includes("reports"), false, "the key is no part of an object path");
    const { pathname, searchParams } = new URL(upload_url);
    assert.ok(pathname.endsWith(`/${upload.bucket}/${upload.path}`));
    assert.equal(upload.token, searchParams.get("token"));
    const lifeSeconds = (Date.parse(upload_expires_at) - Date.now()) / 1000;
    assert.ok(lifeSeconds > 3600 && lifeSeconds <= 7230, String(lifeSeconds));
  },
);

artifactTest(
  "/register, then uploadToSignedUrl of supabase-js with its `upload`, then /commit → 200",
  async ({ planner }) => {
    const supabase = createClient(SUPABASE_URL, PUBLISHABLE_KEY ?? "unknown", {
      auth: { persistSession: false, autoRefreshToken: false },
    });
    for (const body of ["hello", new Blob(["hello"]), new TextEncoder().encode("hello")]) {
      const registered = await register(planner, { content: "hello" });
      const { bucket, path, token } = registered.upload;
      const { error } = await supabase.storage.from(bucket).uploadToSignedUrl(path, token, body);
      assert.equal(error, null);
      const committed = await commit(planner, registered, sha256("hello"));
      assert.equal(committed.status, 200, JSON.stringify(committed.body));
    }
  },
);

artifactTest("/list after /register and PUT, before /commit → nothing", async ({ planner }) => {
  await registerAndUpload(planner);
  assert.deepEqual(await listed(planner), []);
});

artifactTest(
  "/register of two artifacts under one key → both; /list shows the one committed last",
  async ({ planner }) => {
    const first = await register(planner, { key: "k", content: "one" });
    const second = await register(planner, { key: "k", content: "two" });
    assert.notEqual(first.artifact_id, second.artifact_id);
    assert.equal(await upload(first.upload_url, "one"), 200);
    assert.equal(await upload(second.upload_url, "two"), 200);
    assert.equal((await commit(planner, second, sha256("two"))).status, 200);
    assert.equal((await commit(planner, first, sha256("one"))).status, 200);
    assert.deepEqual((await listed(planner)).map((entry) => entry.artifact_id), [
      first.artifact_id,
    ]);
  },
);

artifactTest(
  "PUT without a credential, with any Content-Type or none, chunked or not → 200",
  async ({ planner }) => {
    const ways: Record<string, RequestInit> = {
      "typed": { headers: { "content-type": "image/png" } },
      "untyped": {},
      "wrong credential": { headers: { authorization: "Bearer junk", apikey: "junk" } },
    };
    for (const [name, init] of Object.entries(ways)) {
      const registered = await register(planner, { key: name });
      const bytes = new TextEncoder().encode("hello");
      assert.equal(await upload(registered.upload_url, bytes, init), 200, name);
      assert.equal((await commit(planner, registered, sha256("hello"))).status, 200, name);
    }
    const registered = await register(planner, { key: "chunked" });
    assert.equal(await upload(registered.upload_url, new Blob(["hel", "lo"]).stream()), 200);
    assert.equal((await commit(planner, registered, sha256("hello"))).status, 200);
  },
);

artifactTest(
  "PUT with a forged, altered, foreign or missing token → 400, nothing is stored",
  async ({ planner, builder }) => {
    const own = await register(planner);
    const other = await register(builder);
    const published = await publish(builder, { key: "published" });
    const opened = await open(builder, published);

    const withToken = (token: string | null) => {
      const url = new URL(own.upload_url);
      if (token === null) url.searchParams.delete("token");
      else url.searchParams.set("token", token);
      return url.href;
    };
    const tokenOf = (url: string) => new URL(url).searchParams.get("token") ?? "";
    const ownToken = tokenOf(own.upload_url);
    const [header, claims, signature] = ownToken.split(".");
    const forgedClaims = btoa(JSON.stringify({
      ...JSON.parse(atob(claims!.replaceAll("-", "+").replaceAll("_", "/"))),
      exp: 4_000_000_000,
    })).replaceAll("=", "");
    const tokens = [
      null,
      "",
      "junk",
      tokenOf(other.upload_url),
      tokenOf(opened.body.url),
      `${header}.${forgedClaims}.${signature}`,
      `${header}.${claims}.`,
      `${btoa('{"alg":"none","typ":"JWT"}').replaceAll("=", "")}.${claims}.`,
    ];
    for (const token of tokens) {
      assert.equal(await upload(withToken(token), "hello"), 400, String(token));
    }
    assert.equal(await upload(own.upload_url.replace("/incoming/", "/sealed/"), "hello"), 400);
    assertError(await commit(planner, own, sha256("hello")), 409, "upload_missing");
    assert.equal(await download(opened.body.url), "hello");
  },
);

artifactTest(
  "a second PUT before the commit → 400, and the bytes of the first count",
  async ({ planner }) => {
    const registered = await registerAndUpload(planner, { content: "first" });
    assert.equal(await upload(registered.upload_url, "other"), 400);
    assert.equal((await commit(planner, registered, sha256("first"))).status, 200);
  },
);

artifactTest(
  "/register by nobody → 401, in another agent's name → 403, without an upload URL",
  async ({ planner, stranger }) => {
    const body = { agent_id: planner.id, key: "k", mime: "text/plain", size: 1, ttl_days: 1 };
    const byNobody = await tryRegister("nobody", body);
    assertError(byNobody, 401, "unauthenticated");
    const byStranger = await tryRegister(stranger, body);
    assertError(byStranger, 403, "forbidden");
    for (const refused of [byNobody, byStranger]) assert.equal("upload_url" in refused.body, false);
    for (const agent of [planner, stranger]) assert.deepEqual(await listed(agent), []);
  },
);
