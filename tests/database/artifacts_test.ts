import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import type postgres from "postgres";
import { withStackDatabase } from "./connection.ts";
import { assertError, post, SECRET_KEY, succeed, SUPABASE_URL } from "../conformance/service.ts";
import {
  type Artifact,
  artifactTest,
  commit,
  download,
  grant,
  inbox,
  listed,
  open,
  publish,
  redeem,
  register,
  sha256,
  upload,
} from "../conformance/artifacts.ts";

/** Moves an artifact's whole life back, so that it ended a second ago. */
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
      await post("/agent-artifacts/delete", { as: planner, body }),
      410,
      "artifact_expired",
    );
    deepStrictEqual(await listed(planner), []);
    deepStrictEqual(await inbox(builder), []);
  },
);

artifactTest("a key whose current artifact has expired takes a new one", async ({ planner }) => {
  await expire(await publish(planner, { key: "k", content: "older" }));
  const newer = await publish(planner, { key: "k", content: "newer" });
  deepStrictEqual(await listed(planner), [newer]);
});

artifactTest("a download window ends with the artifact", async ({ planner }) => {
  const artifact = await publish(planner);
  await withStackDatabase((sql) =>
    sql`update artifacts.artifacts set expires_at = now() + interval '10 seconds'
        where artifact_id = ${artifact.artifact_id}`
  );
  const { body } = await open(planner, artifact);
  strictEqual(Date.parse(body.expires_at) <= Date.now() + 10_000, true);
});

artifactTest(
  "1,001 artifacts under one prefix: all listed, page by page, and 1,000 in one page",
  async ({ planner }) => {
    await withStackDatabase((sql) =>
      sql`insert into artifacts.artifacts
          (artifact_id, agent_id, key, mime, size_bytes, ttl_days, state, sha256, committed_at, expires_at, sealed_path)
        select 'art_' || md5(${planner.id} || n), ${planner.id}, 'many/' || n, 'text/plain', 0, 1, 'committed',
          repeat('0', 64), now(), now() + interval '1 day', 'sealed/none/1'
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
      deepStrictEqual(pages.map((page) => page.artifacts.length), pageSizes);
      deepStrictEqual(pages.flatMap((page) => page.artifacts.map((entry) => entry.key)), expected);
    }
    await withStackDatabase((sql) =>
      sql`delete from artifacts.artifacts where agent_id = ${planner.id}`
    );
  },
);

artifactTest(
  "the lease of a commit that died keeps others out until it ends, and no longer",
  async ({ planner }) => {
    const registered = await register(planner);
    await upload(registered.upload_url, "hello");
    const id = registered.artifact_id;
    // What a commit leaves behind that died before it moved the upload: its lease.
    await withStackDatabase((sql) =>
      sql.begin(async (transaction) => {
        await transaction`
        update artifacts.artifacts
        set commit_attempts = 1, sealed_path = 'sealed/' || artifact_id || '/1',
          lease_token = gen_random_uuid(), lease_expires_at = now() + interval '60 seconds'
        where artifact_id = ${id}`;
      })
    );
    assertError(await commit(planner, registered, sha256("hello")), 409, "commit_in_progress");
    await withStackDatabase((sql) =>
      sql`update artifacts.artifacts set lease_expires_at = now() where artifact_id = ${id}`
    );
    strictEqual((await commit(planner, registered, sha256("hello"))).status, 200);
  },
);

artifactTest(
  "a sealed object that was found wrong is never taken up again, even while it still lies there",
  async ({ planner }) => {
    const registered = await register(planner);
    await upload(registered.upload_url, "hello");
    const id = registered.artifact_id;
    assertError(await commit(planner, registered, sha256("jello")), 422, "checksum_mismatch");
    // As if its removal were still on the way.
    await withStackDatabase((sql) =>
      sql`insert into storage.objects (bucket_id, name, metadata)
        values ('agent-artifacts', ${`sealed/${id}/1`}, '{"size": 5}')`
    );
    assertError(await commit(planner, registered, sha256("hello")), 409, "upload_missing");
    await withStackDatabase((sql) =>
      sql.begin(async (transaction) => {
        await transaction`set local storage.allow_delete_query = 'true'`;
        await transaction`delete from storage.objects where name = ${`sealed/${id}/1`}`;
      })
    );
  },
);

artifactTest("a verdict under a lease that was lost changes nothing", async ({ planner }) => {
  const registered = await register(planner);
  const verdict = {
    caller: { kind: "operator", request_id: "test" },
    artifact_id: registered.artifact_id,
    lease_token: crypto.randomUUID(),
    expected_sha256: sha256("hello"),
    observed_size: 5,
    observed_sha256: sha256("hello"),
  };
  await rejects(
    withStackDatabase((sql) =>
      sql`select public.finish_commit(${
        sql.json(verdict.caller)
      }, ${verdict.artifact_id}, ${verdict.lease_token},
        ${verdict.expected_sha256}, ${verdict.observed_size}, ${verdict.observed_sha256})`
    ),
    /commit_in_progress/,
  );
  assertError(await commit(planner, registered, sha256("hello")), 409, "upload_missing");
  deepStrictEqual(await listed(planner), []);
});

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
    deepStrictEqual(
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
    strictEqual(events.at(-1)!["request_id"], "delete-1");
    const everything = await withStackDatabase((sql) =>
      sql`select to_json(e)::text as row from agents.events e
        union all select to_json(g)::text from artifacts.grants g
        union all select to_json(k)::text from agents.keys k`
    );
    for (const secret of [planner.key, builder.key, given.token]) {
      strictEqual(everything.some((found) => String(found["row"]).includes(secret)), false);
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
  strictEqual(await count(), before);
});

artifactTest("a grant past its expires_at → not in the inbox", async ({ planner, builder }) => {
  const artifact = await publish(planner);
  const ended = await grant(planner, artifact, { to: builder });
  const live = await grant(planner, artifact, { to: builder });
  await withStackDatabase((sql) =>
    sql`update artifacts.grants set expires_at = now() where grant_id = ${ended.grant_id}`
  );
  deepStrictEqual((await inbox(builder)).map((entry) => entry.grant_id), [live.grant_id]);
});

artifactTest("bytes that were found wrong are gone from Storage", async ({ planner }) => {
  const registered = await register(planner);
  await upload(registered.upload_url, "jello");
  const objects = () =>
    withStackDatabase((sql) =>
      sql`select name from storage.objects where name like ${`%${registered.artifact_id}%`}`
    );
  strictEqual((await objects()).length, 1);
  assertError(await commit(planner, registered, sha256("hello")), 422, "checksum_mismatch");
  deepStrictEqual([...await objects()], []);
});

artifactTest(
  "a revocation waits for a grant that is being written, and ends it",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const caller = { kind: "operator", request_id: "test" };
    const written = Promise.withResolvers<void>();
    const mayCommit = Promise.withResolvers<void>();
    const granting = withStackDatabase((sql) =>
      sql.begin(async (transaction) => {
        await transaction`select public.grant_artifact(${sql.json(caller)}, ${artifact.artifact_id},
        ${builder.id}, now() + interval '1 hour', ${`grant_${
          crypto.randomUUID().replaceAll("-", "")
        }`},
        ${sha256(crypto.randomUUID())}, 10)`;
        written.resolve();
        await mayCommit.promise;
      })
    );
    await written.promise;
    const revoking = post("/agent-artifacts/revoke", {
      as: planner,
      body: { artifact_id: artifact.artifact_id, to_agent: builder.id },
    });
    await withStackDatabase(untilSomebodyWaits);
    mayCommit.resolve();
    await granting;
    strictEqual((await revoking).body["revoked"], 1);
    deepStrictEqual(await inbox(builder), []);
  },
);

artifactTest(
  "two verdicts for one key at once: the second waits for the first, and supersedes it",
  async ({ planner }) => {
    const [first, second] = await Promise.all([
      register(planner, { key: "k", content: "first" }),
      register(planner, { key: "k", content: "second" }),
    ]);
    const caller = { kind: "operator", request_id: "test" };
    const decided = Promise.withResolvers<void>();
    const mayCommit = Promise.withResolvers<void>();
    await upload(first.upload_url, "first");
    await upload(second.upload_url, "second");
    const deciding = withStackDatabase((sql) =>
      sql.begin(async (transaction) => {
        const [row] = await transaction`
        select public.begin_commit(${sql.json(caller)}, ${first.artifact_id}, ${
          sha256("first")
        }, 60) as begun`;
        await transaction`
        select public.finish_commit(${sql.json(caller)}, ${first.artifact_id}, ${
          row!["begun"].lease_token
        },
          ${sha256("first")}, 5, ${sha256("first")})`;
        decided.resolve();
        await mayCommit.promise;
      })
    );
    await decided.promise;
    const committing = commit(planner, second, sha256("second"));
    await withStackDatabase(untilSomebodyWaits);
    mayCommit.resolve();
    await deciding;
    strictEqual((await committing).status, 200);
    deepStrictEqual((await listed(planner)).map((entry) => entry.artifact_id), [
      second.artifact_id,
    ]);
  },
);

artifactTest(
  "a move of an earlier attempt that happens late → the next commit takes up what it left",
  async ({ planner }) => {
    const registered = await register(planner);
    await upload(registered.upload_url, "hello");
    const id = registered.artifact_id;
    // The first attempt gave its move up, the second found nothing to move and gave up too; then the move happened.
    const moved = await fetch(`${SUPABASE_URL}/storage/v1/object/move`, {
      method: "POST",
      headers: { apikey: SECRET_KEY, "content-type": "application/json" },
      body: JSON.stringify({
        bucketId: "agent-artifacts",
        sourceKey: `incoming/${id}`,
        destinationKey: `sealed/${id}/1`,
      }),
    });
    strictEqual(moved.status, 200, await moved.text());
    await withStackDatabase((sql) =>
      sql`update artifacts.artifacts
        set commit_attempts = 2, sealed_path = ${`sealed/${id}/2`}
        where artifact_id = ${id}`
    );
    const committed = await commit(planner, registered, sha256("hello"));
    strictEqual(committed.status, 200, JSON.stringify(committed.body));
    strictEqual(await download((await open(planner, registered)).body.url), "hello");
  },
);

/** Resolves when some call of the service waits for a lock. */
async function untilSomebodyWaits(sql: postgres.Sql): Promise<void> {
  for (let attempt = 0; attempt < 500; attempt++) {
    const waiting = await sql`
      select from pg_stat_activity where wait_event_type = 'Lock' and usename = 'authenticator'`;
    if (waiting.length > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("nobody waits for a lock");
}
