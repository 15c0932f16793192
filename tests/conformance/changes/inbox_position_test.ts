import assert from "node:assert/strict";
import { type Agent, assertError, assertInvalid, post, type Sender, succeed } from "../client.ts";
import {
  artifactTest,
  deleteArtifact,
  grant,
  type InboxPage,
  publish,
  revoke,
} from "../artifacts.ts";

/** One page of an agent's inbox. */
function inboxOf(agent: Agent, body: object = {}): Promise<InboxPage> {
  return succeed<InboxPage>("/agent-artifacts/inbox", { as: agent, body });
}

function idsIn({ grants }: InboxPage): string[] {
  return grants.map(({ grant_id }) => grant_id);
}

artifactTest(
  "/inbox with the latest of an earlier answer as after → what was granted since, once",
  async ({ planner, builder, stranger }) => {
    const artifact = await publish(planner);
    const empty = await inboxOf(builder);
    assert.deepEqual(empty.grants, []);
    const first = await grant(planner, artifact, { to: builder });
    const afterEmpty = await inboxOf(builder, { after: empty.latest });
    assert.deepEqual(idsIn(afterEmpty), [first.grant_id]);

    assert.deepEqual((await inboxOf(builder, { after: afterEmpty.latest })).grants, []);
    const second = await grant(planner, artifact, { to: builder });
    const third = await grant(planner, artifact, { to: builder });
    await grant(planner, artifact, { to: stranger });
    const afterFirst = await inboxOf(builder, { after: afterEmpty.latest });
    assert.deepEqual(idsIn(afterFirst), [third.grant_id, second.grant_id]);
    assert.deepEqual((await inboxOf(builder, { after: afterFirst.latest })).grants, []);
    assert.equal((await inboxOf(builder)).grants.length, 3);
  },
);

artifactTest(
  "/inbox with after, of grants that have ended since → without them",
  async ({ planner, builder }) => {
    const artifact = await publish(planner, { key: "kept" });
    const gone = await publish(planner, { key: "gone" });
    const { latest } = await inboxOf(builder);
    const revoked = await grant(planner, artifact, { to: builder });
    await grant(planner, gone, { to: builder });
    const kept = await grant(planner, artifact, { to: builder });
    await revoke(planner, { grant_id: revoked.grant_id });
    await deleteArtifact(planner, gone);
    assert.deepEqual(idsIn(await inboxOf(builder, { after: latest })), [kept.grant_id]);
  },
);

artifactTest(
  "/inbox with after, page by page → what was granted since, newest first",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    await grant(planner, artifact, { to: builder });
    const { latest } = await inboxOf(builder);
    const granted: string[] = [];
    for (let index = 0; index < 3; index++) {
      granted.unshift((await grant(planner, artifact, { to: builder })).grant_id);
    }
    const first = await inboxOf(builder, { after: latest, limit: 2 });
    const cursor = first.next_cursor;
    const second = await inboxOf(builder, { after: latest, limit: 2, cursor });
    assert.deepEqual([...idsIn(first), ...idsIn(second)], granted);
    assert.equal(second.next_cursor, null);
  },
);

artifactTest(
  "/inbox with from_agent → the grants of that agent alone, also page by page and with after",
  async ({ planner, builder, stranger }) => {
    const mine = await publish(planner, { key: "mine" });
    const theirs = await publish(stranger, { key: "theirs" });
    const granted: string[] = [];
    const { latest } = await inboxOf(builder);
    for (let index = 0; index < 3; index++) {
      granted.unshift((await grant(planner, mine, { to: builder })).grant_id);
      await grant(stranger, theirs, { to: builder });
    }
    const from_agent = planner.id;
    assert.deepEqual(idsIn(await inboxOf(builder, { from_agent })), granted);
    assert.deepEqual(idsIn(await inboxOf(builder, { from_agent, after: latest })), granted);
    const first = await inboxOf(builder, { from_agent, limit: 2 });
    const second = await inboxOf(builder, { from_agent, limit: 2, cursor: first.next_cursor });
    assert.deepEqual([...idsIn(first), ...idsIn(second)], granted);
    assert.deepEqual((await inboxOf(builder, { from_agent: "nobody-by-this-name" })).grants, []);
  },
);

artifactTest(
  "/inbox with an after that is no latest → 422; with a bad from_agent or wait_seconds → 422",
  async ({ builder }) => {
    const ask = (body: object) => post("/agent-artifacts/inbox", { as: builder, body });
    const epoch = (await inboxOf(builder)).latest.split("-")[0]!;
    for (
      const after of [
        "",
        "x",
        "1",
        "1:2",
        `${epoch}-0:1:`,
        `${epoch}-5:4:`,
        `${epoch}-5:6:7`,
        `${epoch}-1:1:1`,
        `${epoch.toUpperCase()}x-1:1:`,
        1,
        null,
      ]
    ) {
      assertInvalid(await ask({ after }), "after");
    }
    for (const from_agent of ["", "a b", 1, null]) {
      assertInvalid(await ask({ from_agent }), "from_agent");
    }
    for (const wait_seconds of [-1, 141, 1.5, "1", null]) {
      assertInvalid(await ask({ wait_seconds }), "wait_seconds");
    }
  },
);

function block(as: Sender, body: object) {
  return post("/agent-artifacts/inbox/block", { as, body });
}

function unblock(as: Sender, body: object) {
  return post("/agent-artifacts/inbox/unblock", { as, body });
}

artifactTest(
  "/inbox/block → the sender's grants do not show, and can be opened; /inbox/unblock → they show",
  async ({ planner, builder, stranger }) => {
    const wanted = await grant(planner, await publish(planner), { to: builder });
    const spam = await publish(stranger, { key: "spam" });
    const before = await grant(stranger, spam, { to: builder });
    const from_agent = stranger.id;
    for (const _again of [1, 2]) {
      const answer = await block(builder, { from_agent });
      assert.equal(answer.status, 200);
      assert.deepEqual(answer.body, { from_agent, blocked: true });
    }
    const { latest } = await inboxOf(builder, { limit: 1 });
    const after = await grant(stranger, spam, { to: builder });
    for (const body of [{}, { agent_id: builder.id }]) {
      assert.deepEqual(idsIn(await inboxOf(builder, body)), [wanted.grant_id]);
    }
    assert.deepEqual((await inboxOf(builder, { from_agent })).grants, []);
    assert.deepEqual((await inboxOf(builder, { after: latest })).grants, []);
    const { artifact_id } = spam;
    const opened = await post("/agent-artifacts/open", { as: builder, body: { artifact_id } });
    assert.equal(opened.status, 200);
    const fetched = await post("/agent-artifacts/fetch", {
      as: "nobody",
      body: { grant_token: after.token },
    });
    assert.equal(fetched.status, 200);
    const given = await succeed<{ grants: object[] }>("/agent-artifacts/grants", { as: stranger });
    assert.equal(given.grants.length, 2, "the sender does not learn of it");

    for (const _again of [1, 2]) {
      const answer = await unblock(builder, { from_agent });
      assert.equal(answer.status, 200);
      assert.deepEqual(answer.body, { from_agent, blocked: false });
    }
    assert.deepEqual(
      idsIn(await inboxOf(builder)),
      [after.grant_id, before.grant_id, wanted.grant_id],
    );
  },
);

artifactTest(
  "/inbox/block, /inbox/unblock of another agent's inbox → 403, by nobody → 401, with a bad sender → 422, no change",
  async ({ planner, builder, stranger }) => {
    await grant(planner, await publish(planner), { to: builder });
    const body = { agent_id: builder.id, from_agent: planner.id };
    for (const ask of [block, unblock]) {
      assertError(await ask(stranger, body), 403, "forbidden");
      assertError(await ask("nobody", body), 401, "unauthenticated");
      for (const from_agent of ["", "a b", 1, null, undefined]) {
        assertInvalid(await ask(builder, { from_agent }), "from_agent");
      }
    }
    assert.equal((await inboxOf(builder)).grants.length, 1);
    assert.equal((await block("operator", body)).status, 200);
    assert.equal((await inboxOf(builder)).grants.length, 0);
  },
);
