import assert from "node:assert/strict";
import { askUntil } from "../ask_until.ts";
import {
  type Answer,
  assertError,
  assertInvalid,
  post,
  type Sender,
  SUPABASE_URL,
} from "../client.ts";
import {
  type Artifact,
  artifactTest,
  contentOf,
  deleteArtifact,
  type Download,
  download,
  grant,
  open,
  publish,
  redeem,
  register,
  revoke,
  secondsFromNow,
} from "../artifacts.ts";

/** The deployment's setting, if the environment tells it; otherwise the contract's default. */
const WINDOW_SECONDS = Number(Deno.env.get("ARTIFACTS_FETCH_URL_SECONDS") || 60);

/**
 * Asserts that this is a download of `artifact`, from the public origin, that expires soon.
 */
function assertDownloadOf({ url, expires_at, ...described }: Download, artifact: Artifact): void {
  assert.deepEqual(described, contentOf(artifact));
  assert.ok(url.startsWith(`${SUPABASE_URL}/storage/v1/`));
  const windowSeconds = (Date.parse(expires_at) - Date.now()) / 1000;
  assert.ok(windowSeconds > 0 && windowSeconds <= WINDOW_SECONDS + 1, String(windowSeconds));
}

artifactTest(
  "/fetch with a grant token → a URL, and what the bytes behind it must be",
  async ({ planner, builder }) => {
    const artifact = await publish(planner, { content: "hello" });
    const { token } = await grant(planner, artifact, { to: builder });
    const answer = await redeem(token);
    assert.equal(answer.status, 200);
    assertDownloadOf(answer.body, artifact);
    assert.equal(await download(answer.body.url), "hello");
    assert.equal((await redeem(token)).status, 200, "a token works again");
  },
);

artifactTest(
  "GET of a download URL with Range, and HEAD → 206, and the file named by the key's last part",
  async ({ planner }) => {
    const names = {
      "a/report.txt": "report.txt",
      'b/Zürich 日本 "x";.txt': 'Zürich 日本 "x";.txt',
      "100%&c.txt": "100%&c.txt",
    };
    for (const [key, name] of Object.entries(names)) {
      const artifact = await publish(planner, { key, content: "0123456789" });
      const { url } = (await open(planner, artifact)).body;
      const ranged = await fetch(url, { headers: { range: "bytes=2-4" } });
      assert.equal(ranged.status, 206);
      assert.equal(await ranged.text(), "234");
      assert.equal(ranged.headers.get("content-range"), "bytes 2-4/10");
      const head = await fetch(url, { method: "HEAD" });
      await head.body?.cancel();
      assert.equal(head.status, 200);
      const disposition = head.headers.get("content-disposition") ?? "";
      assert.match(disposition, /^attachment/);
      const encoded = /filename\*=UTF-8''([^;]+)/i.exec(disposition)?.[1];
      const plain = /filename="?([^";]+)"?/.exec(disposition)?.[1];
      assert.equal(encoded ? decodeURIComponent(encoded) : plain, name);
    }
  },
);

artifactTest(
  "/fetch with a token that was never given → 404 grant_not_found, and the right one still works",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const { token, grant_id } = await grant(planner, artifact, { to: builder });
    const altered = token.slice(0, -1) + (token.endsWith("A") ? "B" : "A");
    for (
      const wrong of [
        altered,
        `${token}A`,
        token.toUpperCase(),
        grant_id,
        artifact.artifact_id,
        `g_${"A".repeat(43)}`,
        "",
      ]
    ) {
      assertError(await redeem(wrong), 404, "grant_not_found");
    }
    assert.equal((await redeem(token)).status, 200);
  },
);

artifactTest(
  "/fetch, /open after the grant's end → 410, 404; before it, the URL's window ends no later",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const expires_at = secondsFromNow(6);
    const { token } = await grant(planner, artifact, { to: builder, expires_at });
    for (const answer of [await redeem(token), await open(builder, artifact)]) {
      assert.equal(answer.status, 200);
      assert.ok(
        Date.parse(answer.body.expires_at) <= Date.parse(expires_at) + 1000,
        "the window is whole seconds, at least one",
      );
    }
    const ended = await askUntil(({ status }) => status !== 200, () => redeem(token));
    assertError(ended, 410, "grant_expired");
    assertError(await open(builder, artifact), 404, "artifact_not_found");
  },
);

artifactTest(
  "/open by the owner, by an agent with a live grant, by the operator → as /fetch",
  async ({ planner, builder }) => {
    const artifact = await publish(planner, { content: "hello" });
    await grant(planner, artifact, { to: builder });
    for (const as of [planner, builder, "operator" as const]) {
      const answer = await open(as, artifact);
      assert.equal(answer.status, 200);
      assertDownloadOf(answer.body, artifact);
      assert.equal(await download(answer.body.url), "hello");
    }
  },
);

artifactTest(
  "/open by an agent without a live grant → 404, by nobody → 401, of a pending artifact → 409",
  async ({ planner, builder, stranger }) => {
    const artifact = await publish(planner);
    const other = await publish(planner, { key: "other" });
    await grant(planner, other, { to: stranger });
    assertError(await open(stranger, artifact), 404, "artifact_not_found");
    assertError(await open(builder, artifact), 404, "artifact_not_found");
    assertError(await open("nobody", artifact), 401, "unauthenticated");
    const pending = await register(planner, { key: "pending" });
    assertError(await open(stranger, pending), 404, "artifact_not_found");
    assertError(await open(planner, pending), 409, "artifact_not_committed");
  },
);

/** Calls /open with a key. */
function openKey(as: Sender, body: { key: string; agent_id?: string }): Promise<Answer<Download>> {
  return post<Download>("/agent-artifacts/open", { as, body });
}

artifactTest(
  "/open with a key → the artifact that the key names now: one's own, or with agent_id another's",
  async ({ planner, builder }) => {
    const older = await publish(planner, { key: "k", content: "older" });
    const newer = await publish(planner, { key: "k", content: "newer" });
    await register(planner, { key: "k", content: "pending" });
    const own = await openKey(planner, { key: "k" });
    assert.equal(own.status, 200);
    assertDownloadOf(own.body, newer);
    assert.equal((await openKey(planner, { key: "k", agent_id: planner.id })).status, 200);
    assert.equal((await openKey("operator", { key: "k", agent_id: planner.id })).status, 200);

    await grant(planner, older, { to: builder });
    const ofOlder = await openKey(builder, { key: "k", agent_id: planner.id });
    assertError(ofOlder, 404, "artifact_not_found");
    await grant(planner, newer, { to: builder });
    const granted = await openKey(builder, { key: "k", agent_id: planner.id });
    assert.equal(granted.status, 200);
    assertDownloadOf(granted.body, newer);
    await publish(planner, { key: "k", content: "newest" });
    const ofNewest = await openKey(builder, { key: "k", agent_id: planner.id });
    assertError(ofNewest, 404, "artifact_not_found");
  },
);

artifactTest(
  "/open with a key that names nothing, or nothing that the caller may read → 404",
  async ({ planner, builder, stranger }) => {
    const deleted = await publish(planner, { key: "deleted" });
    await deleteArtifact(planner, deleted);
    await register(planner, { key: "pending" });
    await publish(builder, { key: "builder's" });
    for (const key of ["deleted", "pending", "never", "builder's"]) {
      assertError(await openKey(planner, { key }), 404, "artifact_not_found");
    }
    for (const agent_id of [builder.id, "nobody-by-this-name"]) {
      const answer = await openKey(stranger, { key: "builder's", agent_id });
      assertError(answer, 404, "artifact_not_found");
    }
  },
);

artifactTest(
  "/open with both an artifact_id and a key, neither, a bad key, or by the operator of nobody → 422",
  async ({ planner }) => {
    const { artifact_id } = await publish(planner, { key: "k" });
    const ask = (as: Sender, body: object) => post("/agent-artifacts/open", { as, body });
    assertInvalid(await ask(planner, { artifact_id, key: "k" }), "key");
    assertInvalid(await ask(planner, {}), "artifact_id");
    assertInvalid(await ask(planner, { key: "/k", agent_id: "a b" }), "key", "agent_id");
    assertInvalid(await ask("operator", { key: "k" }), "agent_id");
    assertError(await ask("nobody", { key: "k" }), 401, "unauthenticated");
  },
);

artifactTest(
  "GET of a download URL after its grant was revoked → the bytes, until its window ends",
  async ({ planner, builder }) => {
    const artifact = await publish(planner, { content: "hello" });
    const { token } = await grant(planner, artifact, { to: builder });
    const { url } = (await redeem(token)).body;
    await revoke(planner, { artifact_id: artifact.artifact_id, to_agent: builder.id });
    assertError(await redeem(token), 410, "grant_revoked");
    assert.equal(await download(url), "hello");
  },
);

artifactTest("GET of a download URL that was altered → 400, and no bytes", async ({ planner }) => {
  const own = await publish(planner, { key: "own", content: "own" });
  const other = await publish(planner, { key: "other", content: "other" });
  const ownUrl = new URL((await open(planner, own)).body.url);
  const otherUrl = new URL((await open(planner, other)).body.url);
  const swapped = new URL(ownUrl);
  swapped.pathname = otherUrl.pathname;
  const bare = new URL(ownUrl);
  bare.search = "";
  for (const url of [swapped, bare]) {
    const response = await fetch(url);
    assert.equal((await response.text()).includes("other"), false);
    assert.equal(response.status, 400);
  }
});
