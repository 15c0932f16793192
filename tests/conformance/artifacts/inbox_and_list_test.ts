import assert from "node:assert/strict";
import { type Agent, assertError, post, succeed } from "../client.ts";
import {
  type Artifact,
  artifactTest,
  contentOf,
  deleteArtifact,
  grant,
  inbox,
  type InboxPage,
  listed,
  type ListPage,
  publish,
  revoke,
  secondsFromNow,
} from "../artifacts.ts";

/** Reads page after page until one has no next_cursor. */
async function readPages<Page extends { next_cursor: string | null }>(
  path: string,
  { as, body }: { as: Agent; body: object },
): Promise<Page[]> {
  const walked: Page[] = [];
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const page: Page = await succeed<Page>(path, {
      as,
      body: { ...body, ...(cursor === undefined ? {} : { cursor }) },
    });
    walked.push(page);
    cursor = page.next_cursor;
  }
  return walked;
}

artifactTest("/list → the current artifacts, in byte order of key", async ({ planner }) => {
  // Byte order differs from a dictionary's: 'a-2' < 'a_1' and 'B' < 'a'. UTF-8 order differs from
  // UTF-16 order: U+FF5A comes before U+1F642.
  const keys = ["B", "a", "a-2", "a/b", "a_1", "b", "é", "ｚ", "🙂"];
  const published = new Map<string, Artifact>();
  for (const key of keys.toReversed()) published.set(key, await publish(planner, { key }));
  assert.deepEqual(await listed(planner), keys.map((key) => published.get(key)));
});

artifactTest(
  "/list with a prefix → the keys that begin with exactly this text",
  async ({ planner }) => {
    for (const key of ["a/1", "a/2", "ab", "a%x", "a_x", "b/1", "日本/x"]) {
      await publish(planner, { key });
    }
    const keysUnder = async (prefix: string) =>
      (await listed(planner, prefix)).map((entry) => entry.key);
    assert.deepEqual(await keysUnder("a/"), ["a/1", "a/2"]);
    assert.deepEqual(await keysUnder("a"), ["a%x", "a/1", "a/2", "a_x", "ab"]);
    assert.deepEqual(await keysUnder("a%"), ["a%x"]);
    assert.deepEqual(await keysUnder("a_"), ["a_x"]);
    assert.deepEqual(await keysUnder("日"), ["日本/x"]);
    assert.deepEqual(await keysUnder("c"), []);
    assert.deepEqual(await keysUnder("a/1"), ["a/1"]);
  },
);

artifactTest(
  "/list page by page → every artifact once, even when one is committed in between",
  async ({ planner }) => {
    const keys = ["k/1", "k/2", "k/3", "k/4", "k/5"];
    for (const key of [...keys, "z"]) await publish(planner, { key });
    const body = { agent_id: planner.id, prefix: "k/", limit: 2 };
    const walked = await readPages<ListPage>("/agent-artifacts/list", { as: planner, body });
    assert.deepEqual(walked.map((page) => page.artifacts.length), [2, 2, 1]);
    assert.deepEqual(walked.flatMap((page) => page.artifacts.map((entry) => entry.key)), keys);

    const first = await succeed<ListPage>("/agent-artifacts/list", { as: planner, body });
    await publish(planner, { key: "k/0" });
    await publish(planner, { key: "k/2" });
    const second = await succeed<ListPage>("/agent-artifacts/list", {
      as: planner,
      body: { ...body, cursor: first.next_cursor },
    });
    assert.deepEqual(second.artifacts.map((entry) => entry.key), ["k/3", "k/4"]);
  },
);

artifactTest("/list of exactly one full page → next_cursor is null", async ({ planner }) => {
  for (const key of ["a", "b"]) await publish(planner, { key });
  const page = await succeed<ListPage>("/agent-artifacts/list", {
    as: planner,
    body: { agent_id: planner.id, limit: 2 },
  });
  assert.equal(page.artifacts.length, 2);
  assert.equal(page.next_cursor, null);
});

artifactTest(
  "/list and /inbox of another agent → 403, by nobody → 401, by the operator → 200",
  async ({ planner, builder, stranger }) => {
    const artifact = await publish(planner);
    await grant(planner, artifact, { to: builder });
    for (const [path, agent] of [["list", planner], ["inbox", builder]] as const) {
      const body = { agent_id: agent.id };
      assertError(await post(`/agent-artifacts/${path}`, { as: stranger, body }), 403, "forbidden");
      const byNobody = await post(`/agent-artifacts/${path}`, { as: "nobody", body });
      assertError(byNobody, 401, "unauthenticated");
      assert.equal((await post(`/agent-artifacts/${path}`, { as: "operator", body })).status, 200);
    }
  },
);

artifactTest(
  "/inbox → each live grant, newest first, with who gave it; none that has ended",
  async ({ planner, builder, stranger }) => {
    const first = await publish(planner, { key: "first" });
    const second = await publish(stranger, { key: "second" });
    const gone = await publish(planner, { key: "gone" });
    const expires_at = secondsFromNow(600);
    const older = await grant(planner, first, { to: builder, expires_at });
    const newer = await grant(stranger, second, { to: builder, expires_at });
    const revoked = await grant(planner, first, { to: builder });
    await revoke(planner, { grant_id: revoked.grant_id });
    await grant(planner, gone, { to: builder });
    await deleteArtifact(planner, gone);
    await grant(planner, first, { to: stranger });

    const entries = await inbox(builder);
    const expected = [[newer, second], [older, first]] as const;
    assert.equal(entries.length, 2);
    for (const [index, [given, artifact]] of expected.entries()) {
      const { granted_at, ...entry } = entries[index]!;
      assert.match(granted_at, /Z$/);
      assert.deepEqual({ ...entry }, {
        ...contentOf(artifact),
        grant_id: given.grant_id,
        from_agent: artifact.agent_id,
        expires_at,
        note: null,
        reply_to: null,
        deliver: "each",
        superseded: false,
        state: "waiting",
        attempt: 0,
        next_at: null,
      });
    }
  },
);

artifactTest(
  "/inbox page by page → every grant once, newest first",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const granted = [];
    for (let index = 0; index < 5; index++) {
      granted.unshift((await grant(planner, artifact, { to: builder })).grant_id);
    }
    const body = { agent_id: builder.id, limit: 2 };
    const walked = await readPages<InboxPage>("/agent-artifacts/inbox", { as: builder, body });
    assert.deepEqual(walked.map((page) => page.grants.length), [2, 2, 1]);
    assert.deepEqual(walked.flatMap((page) => page.grants.map((entry) => entry.grant_id)), granted);
  },
);

artifactTest(
  "/inbox after a granted artifact was superseded → the grant, still of the older content",
  async ({ planner, builder }) => {
    const older = await publish(planner, { key: "k", content: "older" });
    await grant(planner, older, { to: builder });
    await publish(planner, { key: "k", content: "newer" });
    const [entry] = await inbox(builder);
    assert.equal(entry?.artifact_id, older.artifact_id);
    assert.equal(entry.sha256, older.sha256);
  },
);
