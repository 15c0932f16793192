import assert from "node:assert/strict";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { assertError } from "../client.ts";
import {
  artifactTest,
  commit,
  download,
  grant,
  listed,
  open,
  publish,
  redeem,
  register,
  registerAndUpload,
  sha256,
  upload,
} from "../artifacts.ts";

artifactTest(
  "/commit after the PUT, with the right digest → committed, with its times",
  async ({ planner }) => {
    const registered = await registerAndUpload(planner, { ttl_days: 3 });
    const { status, body } = await commit(planner, registered, sha256("hello"));
    assert.equal(status, 200);
    assert.equal(body.artifact_id, registered.artifact_id);
    assert.equal(body.state, "committed");
    assert.equal(body.sha256, sha256("hello"));
    assert.ok(Math.abs(Date.parse(body.committed_at!) - Date.now()) < 60_000);
    assert.equal(Date.parse(body.expires_at!) - Date.parse(body.committed_at!), 3 * 86_400_000);
    assert.deepEqual(await listed(planner), [body]);
  },
);

artifactTest("/commit and /open of an artifact of no bytes → 200", async ({ planner }) => {
  const artifact = await publish(planner, { content: "" });
  assert.equal(artifact.size, 0);
  assert.equal(await download((await open(planner, artifact)).body.url), "");
});

artifactTest(
  "/commit without an upload → 409 upload_missing; after the PUT it succeeds",
  async ({ planner }) => {
    const registered = await register(planner);
    assertError(await commit(planner, registered, sha256("hello")), 409, "upload_missing");
    await upload(registered.upload_url, "hello");
    assert.equal((await commit(planner, registered, sha256("hello"))).status, 200);
  },
);

artifactTest(
  "/commit of bytes of a wrong size → 422 with both sizes; the same URL takes the right bytes",
  async ({ planner }) => {
    const registered = await register(planner, { content: "hello" });
    for (const [content, actual] of [["hell", 4], ["hello!", 6], ["", 0]] as const) {
      assert.equal(await upload(registered.upload_url, content), 200);
      const answer = await commit(planner, registered, sha256(content));
      assert.deepEqual(assertError(answer, 422, "size_mismatch"), { expected: 5, actual });
      assertError(await commit(planner, registered, sha256(content)), 409, "upload_missing");
      assert.deepEqual(await listed(planner), []);
    }
    assert.equal(await upload(registered.upload_url, "hello"), 200);
    assert.equal((await commit(planner, registered, sha256("hello"))).status, 200);
  },
);

artifactTest(
  "/commit with a wrong digest → 422 with both digests; the same URL takes the right bytes",
  async ({ planner }) => {
    const registered = await register(planner, { content: "hello" });
    assert.equal(await upload(registered.upload_url, "jello"), 200);
    const answer = await commit(planner, registered, sha256("hello"));
    assert.deepEqual(assertError(answer, 422, "checksum_mismatch"), {
      expected: sha256("hello"),
      actual: sha256("jello"),
    });
    assertError(await commit(planner, registered, sha256("jello")), 409, "upload_missing");
    assert.deepEqual(await listed(planner), []);

    assert.equal(await upload(registered.upload_url, "hello"), 200);
    const committed = await commit(planner, registered, sha256("hello"));
    assert.equal(committed.status, 200);
    assert.equal(await download((await open(planner, registered)).body.url), "hello");
  },
);

artifactTest(
  "/commit again with the same digest → 200, the artifact as it is; with another → 409, no change",
  async ({ planner }) => {
    const first = await publish(planner, { key: "k", content: "one" });
    assert.deepEqual((await commit(planner, first, sha256("one"))).body, first);
    assertError(await commit(planner, first, sha256("two")), 409, "already_committed");
    await publish(planner, { key: "k", content: "two" });
    const superseded = { ...first, state: "superseded" };
    assert.deepEqual((await commit(planner, first, sha256("one"))).body, superseded);
    assertError(await commit(planner, first, sha256("two")), 409, "already_committed");
    assert.deepEqual((await commit(planner, first, sha256("one"))).body, superseded);
  },
);

artifactTest(
  "/commit of a newer artifact under the key → the older is superseded, its grants keep working",
  async ({ planner, builder }) => {
    const older = await publish(planner, { key: "k", content: "older" });
    const { token } = await grant(planner, older, { to: builder });
    const newer = await publish(planner, { key: "k", content: "newer" });
    assert.deepEqual(await listed(planner), [newer]);
    assert.equal(await download((await redeem(token)).body.url), "older");
    assert.equal(await download((await open(builder, older)).body.url), "older");
    assert.equal((await open(planner, older)).status, 200);
    const { token: later } = await grant(planner, older, { to: builder });
    assert.equal(await download((await redeem(later)).body.url), "older");
  },
);

artifactTest(
  "/commit under a key that another agent uses too → neither supersedes the other",
  async ({ planner, builder }) => {
    const own = await publish(planner, { key: "k", content: "own" });
    const other = await publish(builder, { key: "k", content: "other" });
    assert.deepEqual(await listed(planner), [own]);
    assert.deepEqual(await listed(builder), [other]);
  },
);

artifactTest(
  "/commit by another agent → 404, by nobody → 401; the artifact stays pending",
  async ({ planner, stranger }) => {
    const registered = await registerAndUpload(planner);
    assertError(await commit(stranger, registered, sha256("hello")), 404, "artifact_not_found");
    assertError(await commit("nobody", registered, sha256("hello")), 401, "unauthenticated");
    assert.deepEqual(await listed(planner), []);
    assert.equal((await commit("operator", registered, sha256("hello"))).status, 200);
  },
);

artifactTest(
  "a PUT begun after the commit → what is handed out stays the same",
  async ({ planner, builder }) => {
    const registered = await registerAndUpload(planner);
    const committed = await commit(planner, registered, sha256("hello"));
    const { token } = await grant(planner, registered, { to: builder });

    assert.equal(
      await upload(registered.upload_url, "jello"),
      200,
      "Storage takes the bytes: the upload's path is empty again",
    );
    assert.equal(await download((await redeem(token)).body.url), "hello");
    assert.equal(await download((await open(planner, registered)).body.url), "hello");
    assert.deepEqual((await commit(planner, registered, sha256("hello"))).body, committed.body);
    assertError(await commit(planner, registered, sha256("jello")), 409, "already_committed");
  },
);

artifactTest(
  "a PUT begun before the commit and finished after it → what is handed out stays the same",
  async ({ planner, builder }) => {
    const registered = await register(planner);
    const attack = beginPut(registered.upload_url, "jel");
    assert.equal(await upload(registered.upload_url, "hello"), 200);
    assert.equal((await commit(planner, registered, sha256("hello"))).status, 200);
    const status = await attack.finish("lo");
    assert.ok([200, 400].includes(status), String(status));

    const { token } = await grant(planner, registered, { to: builder });
    assert.equal(await download((await redeem(token)).body.url), "hello");
    assertError(await commit(planner, registered, sha256("jello")), 409, "already_committed");
  },
);

artifactTest(
  "16 identical /commit at once → 200 with one body, or 409 commit_in_progress",
  async ({ planner }) => {
    const registered = await registerAndUpload(planner);
    const answers = await Promise.all(
      Array.from({ length: 16 }, () => commit(planner, registered, sha256("hello"))),
    );
    const done = answers.filter((answer) => answer.status === 200);
    assert.ok(done.length >= 1);
    for (const answer of done) assert.deepEqual(answer.body, done[0]!.body);
    for (const answer of answers) {
      if (answer.status !== 200) {
        assertError(answer, 409, "commit_in_progress");
        assert.ok(Number(answer.headers.get("retry-after")) >= 1);
      }
    }
    assert.deepEqual(await listed(planner), [done[0]!.body]);
  },
);

artifactTest(
  "16 /commit of two artifacts of one key at once → one committed, one superseded, one listed",
  async ({ planner }) => {
    const pair = await Promise.all(
      ["one", "two"].map(async (content) => {
        const registered = await registerAndUpload(planner, { key: "k", content });
        return { registered, digest: sha256(content) };
      }),
    );
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, index) => {
        const { registered, digest } = pair[index % 2]!;
        return commit(planner, registered, digest);
      }),
    );
    for (const answer of answers) {
      if (answer.status !== 200) assertError(answer, 409, "commit_in_progress");
    }
    const states = [];
    for (const { registered, digest } of pair) {
      const now = await commit(planner, registered, digest);
      assert.equal(now.status, 200);
      states.push(now.body.state);
    }
    assert.deepEqual(states.sort(), ["committed", "superseded"]);
    assert.equal((await listed(planner)).length, 1);
  },
);

/** Begins a PUT with the first part of its body. `finish` sends the rest. */
function beginPut(url: string, firstPart: string): { finish(rest: string): Promise<number> } {
  const send = url.startsWith("https:") ? httpsRequest : httpRequest;
  const outgoing = send(url, { method: "PUT", headers: { "transfer-encoding": "chunked" } });
  const status = new Promise<number>((resolve, reject) => {
    outgoing.on("error", reject);
    outgoing.on("response", (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode ?? 0));
    });
  });
  outgoing.write(firstPart);
  return {
    finish(rest) {
      outgoing.end(rest);
      return status;
    },
  };
}
