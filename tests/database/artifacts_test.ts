import assert from "node:assert/strict";
import { withStackDatabase } from "./connection.ts";
import { assertError, post, succeed } from "../conformance/client.ts";
import {
  type Artifact,
  artifactTest,
  commit,
  grant,
  inbox,
  listed,
  open,
  publish,
  redeem,
  sha256,
} from "../conformance/artifacts.ts";

/** Moves an artifact's times back, so that it expired a second ago. */
async function expire({ artifact_id }: { artifact_id: string }): Promise<void> {
  await withStackDatabase((sql) =>
    sql`update artifacts.artifacts
        set committed_at = committed_at - (expires_at - now()) - interval '1 second',
            expires_at = now() - interval '1 second'
        where artifact_id = ${artifact_id}`
  );
}

artifactTest(
  "an artifact past its expires_at → 410 for its owner and by token, 404 by grant, not listed",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const { token } = await grant(planner, artifact, { to: builder });
    await expire(artifact);
    assertError(await open(planner, artifact), 410, "artifact_expired");
    assertError(await redeem(token), 410, "artifact_expired");
    assertError(await open(builder, artifact), 404, "artifact_not_found");
    assertError(await commit(planner, artifact, sha256("hello")), 410, "artifact_expired");
    const body = {
      artifact_id: artifact.artifact_id,
      to_agent: builder.id,
      expires_at: "2999-01-01T00:00:00Z",
    };
    assertError(
      await post("/agent-artifacts/grant", { as: planner, body }),
      410,
      "artifact_expired",
    );
    assertError(
      await post("/agent-artifacts/delete", {
        as: planner,
        body: { artifact_id: artifact.artifact_id },
      }),
      410,
      "artifact_expired",
    );
    assert.deepEqual(await listed(planner), []);
    assert.deepEqual(await inbox(builder), []);
  },
);

artifactTest("a key whose current artifact has expired takes a new one", async ({ planner }) => {
  await expire(await publish(planner, { key: "k", content: "older" }));
  const newer = await publish(planner, { key: "k", content: "newer" });
  assert.deepEqual(await listed(planner), [newer]);
});

artifactTest("a download window ends with the artifact", async ({ planner }) => {
  const artifact = await publish(planner);
  await withStackDatabase((sql) =>
    sql`update artifacts.artifacts set expires_at = now() + interval '10 seconds'
        where artifact_id = ${artifact.artifact_id}`
  );
  const { body } = await open(planner, artifact);
  assert.equal(Date.parse(body.expires_at) <= Date.now() + 10_000, true);
});

artifactTest(
  "1,001 artifacts under one prefix: all listed, page by page, and 1,000 in one page",
  async ({ planner }) => {
    await withStackDatabase((sql) =>
      sql`insert into artifacts.artifacts
          (artifact_id, agent_id, key, mime, size_bytes, ttl_days, state, sha256, committed_at, expires_at,
           commit_attempts, sealed_attempt)
        select 'art_' || md5(${planner.id} || n), ${planner.id}, 'many/' || n, 'text/plain', 0, 1, 'committed',
          repeat('0', 64), now(), now() + interval '1 day', 1, 1
        from generate_series(1, 1001) n`
    );
    interface Page {
      artifacts: Artifact[];
      next_cursor: string | null;
    }
    const expected = Array.from({ length: 1001 }, (_, index) => `many/${index + 1}`).sort();
    for (
      const [limit, pageSizes] of [[1000, [1000, 1]], [143, [
        143,
        143,
        143,
        143,
        143,
        143,
        143,
      ]]] as const
    ) {
      const body = { agent_id: planner.id, prefix: "many/", limit };
      const pages: Page[] = [await succeed<Page>("/agent-artifacts/list", { as: planner, body })];
      while (pages.at(-1)!.next_cursor !== null) {
        const cursor = pages.at(-1)!.next_cursor;
        pages.push(
          await succeed<Page>("/agent-artifacts/list", { as: planner, body: { ...body, cursor } }),
        );
      }
      assert.deepEqual(pages.map((page) => page.artifacts.length), pageSizes);
      assert.deepEqual(pages.flatMap((page) => page.artifacts.map((entry) => entry.key)), expected);
    }
    await withStackDatabase((sql) =>
      sql`delete from artifacts.artifacts where agent_id = ${planner.id}`
    );
  },
);

artifactTest(
  "every change of access writes one event, with who and on whom, and no secret",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const given = await grant(planner, artifact, { to: builder });
    await redeem(given.token);
    await open(builder, artifact);
    await post("/agent-artifacts/revoke", { as: planner, body: { grant_id: given.grant_id } });
    await post("/agent-artifacts/delete", {
      as: "operator",
      body: { artifact_id: artifact.artifact_id },
      headers: { "x-request-id": "delete-1" },
    });
    const events = await withStackDatabase((sql) =>
      sql`select action, actor_kind, actor_agent_id, subject_agent_id, object_id, request_id
        from agents.events
        where object_id in (${artifact.artifact_id}, ${given.grant_id}, ${planner.keyId})
        order by event_id`
    );
    assert.deepEqual(
      events.map((
        event,
      ) => [
        event["action"],
        event["actor_kind"],
        event["actor_agent_id"],
        event["subject_agent_id"],
      ]),
      [
        ["key.created", "operator", null, planner.id],
        ["artifact.registered", "agent", planner.id, planner.id],
        ["artifact.committed", "agent", planner.id, planner.id],
        ["grant.created", "agent", planner.id, builder.id],
        ["artifact.fetched", "grant_token", null, builder.id],
        ["artifact.opened", "agent", builder.id, planner.id],
        ["grant.revoked", "agent", planner.id, builder.id],
        ["artifact.deleted", "operator", null, planner.id],
      ],
    );
    assert.equal(events.at(-1)!["request_id"], "delete-1");
    const everything = await withStackDatabase((sql) =>
      sql`select to_json(e)::text as row from agents.events e
        union all select to_json(g)::text from artifacts.grants g
        union all select to_json(k)::text from agents.keys k`
    );
    for (const secret of [planner.key, builder.key, given.token]) {
      assert.equal(everything.some((found) => String(found["row"]).includes(secret)), false);
    }
  },
);

artifactTest("a refused request writes no event", async ({ planner, stranger }) => {
  const artifact = await publish(planner);
  const count = async () =>
    (await withStackDatabase((sql) =>
      sql`select from agents.events where object_id = ${artifact.artifact_id}`
    )).length;
  const before = await count();
  await open(stranger, artifact);
  await commit(stranger, artifact, sha256("hello"));
  await post("/agent-artifacts/delete", {
    as: stranger,
    body: { artifact_id: artifact.artifact_id },
  });
  assert.equal(await count(), before);
});

artifactTest("a grant past its expires_at → not in the inbox", async ({ planner, builder }) => {
  const artifact = await publish(planner);
  const ended = await grant(planner, artifact, { to: builder });
  const live = await grant(planner, artifact, { to: builder });
  await withStackDatabase((sql) =>
    sql`update artifacts.grants set expires_at = now() where grant_id = ${ended.grant_id}`
  );
  assert.deepEqual((await inbox(builder)).map((entry) => entry.grant_id), [live.grant_id]);
});
