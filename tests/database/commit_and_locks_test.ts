import assert from "node:assert/strict";
import type postgres from "postgres";
import { withStackDatabase } from "./connection.ts";
import { assertError, post, SECRET_KEY, SUPABASE_URL } from "../conformance/client.ts";
import {
  artifactTest,
  commit,
  download,
  grant,
  inbox,
  listed,
  open,
  publish,
  register,
  sha256,
  tryGrant,
  upload,
} from "../conformance/artifacts.ts";

artifactTest(
  "the lease of a commit that died keeps others out until it ends, and no longer",
  async ({ planner }) => {
    const registered = await register(planner);
    await upload(registered.upload_url, "hello");
    const id = registered.artifact_id;
    // A commit that crashed before it moved the upload leaves this lease.
    await withStackDatabase((sql) =>
      sql.begin(async (transaction) => {
        await transaction`
          update artifacts.artifacts set commit_attempts = 1 where artifact_id = ${id}`;
        await transaction`
          insert into artifacts.verifications (artifact_id, attempt, lease_token, lease_expires_at)
          values (${id}, 1, gen_random_uuid(), now() + interval '60 seconds')`;
      })
    );
    assertError(await commit(planner, registered, sha256("hello")), 409, "commit_in_progress");
    await withStackDatabase((sql) =>
      sql`update artifacts.verifications set lease_expires_at = now() where artifact_id = ${id}`
    );
    assert.equal((await commit(planner, registered, sha256("hello"))).status, 200);
  },
);

artifactTest(
  "a sealed object that was found wrong is never taken up again, even while it still lies there",
  async ({ planner }) => {
    const registered = await register(planner);
    await upload(registered.upload_url, "hello");
    const id = registered.artifact_id;
    assertError(await commit(planner, registered, sha256("jello")), 422, "checksum_mismatch");
    // Puts the rejected object back, as if its removal were still pending.
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
  await assert.rejects(
    withStackDatabase((sql) =>
      sql`select public.agent_api_finish_commit(${
        sql.json(verdict.caller)
      }, ${verdict.artifact_id}, ${verdict.lease_token},
        ${verdict.expected_sha256}, ${verdict.observed_size}, ${verdict.observed_sha256})`
    ),
    /commit_in_progress/,
  );
  assertError(await commit(planner, registered, sha256("hello")), 409, "upload_missing");
  assert.deepEqual(await listed(planner), []);
});

artifactTest("bytes that were found wrong are gone from Storage", async ({ planner }) => {
  const registered = await register(planner);
  await upload(registered.upload_url, "jello");
  const objects = () =>
    withStackDatabase((sql) =>
      sql`select name from storage.objects where name like ${`%${registered.artifact_id}%`}`
    );
  assert.equal((await objects()).length, 1);
  assertError(await commit(planner, registered, sha256("hello")), 422, "checksum_mismatch");
  assert.deepEqual([...await objects()], []);
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
        await transaction`select public.agent_api_grant_artifact(${
          sql.json(caller)
        }, ${artifact.artifact_id},
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
    assert.equal((await revoking).body["revoked"], 1);
    assert.deepEqual(await inbox(builder), []);
  },
);

artifactTest(
  "/grant while somebody holds the artifact → 503 to be sent again, no grant; other artifacts go on",
  async ({ planner, builder }) => {
    const held = await publish(planner, { key: "held" });
    const free = await publish(planner, { key: "free" });
    await withStackDatabase((sql) =>
      sql.begin(async (transaction) => {
        await transaction`
          select from artifacts.artifacts where artifact_id = ${held.artifact_id} for update`;
        const [refused] = await Promise.all([
          tryGrant(planner, held, { to: builder }),
          grant(planner, free, { to: builder }),
        ]);
        assertError(refused, 503, "upstream_unavailable");
        assert.equal(refused.headers.get("retry-after"), "2");
        assert.deepEqual((await inbox(builder)).map((entry) => entry.artifact_id), [
          free.artifact_id,
        ]);
      })
    );
    await grant(planner, held, { to: builder });
    assert.equal((await inbox(builder)).length, 2);
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
        select public.agent_api_begin_commit(${sql.json(caller)}, ${first.artifact_id}, ${
          sha256("first")
        }, 60) as begun`;
        await transaction`
        select public.agent_api_finish_commit(${sql.json(caller)}, ${first.artifact_id}, ${
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
    assert.equal((await committing).status, 200);
    assert.deepEqual((await listed(planner)).map((entry) => entry.artifact_id), [
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
    // The first attempt gave up waiting for its move; the second found nothing to move and gave up
    // too. Then the first move finished.
    const moved = await fetch(`${SUPABASE_URL}/storage/v1/object/move`, {
      method: "POST",
      headers: { apikey: SECRET_KEY, "content-type": "application/json" },
      body: JSON.stringify({
        bucketId: "agent-artifacts",
        sourceKey: `incoming/${id}`,
        destinationKey: `sealed/${id}/1`,
      }),
    });
    assert.equal(moved.status, 200, await moved.text());
    await withStackDatabase((sql) =>
      sql`update artifacts.artifacts set commit_attempts = 2 where artifact_id = ${id}`
    );
    const committed = await commit(planner, registered, sha256("hello"));
    assert.equal(committed.status, 200, JSON.stringify(committed.body));
    assert.equal(await download((await open(planner, registered)).body.url), "hello");
  },
);

/** Resolves when a call of the service waits for a lock. */
async function untilSomebodyWaits(sql: postgres.Sql): Promise<void> {
  for (let attempt = 0; attempt < 500; attempt++) {
    const waiting = await sql`
      select from pg_stat_activity where wait_event_type = 'Lock' and usename = 'authenticator'`;
    if (waiting.length > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error("nobody waits for a lock");
}
