import assert from "node:assert/strict";
import { assertError, SUPABASE_URL } from "../conformance/client.ts";
import {
  type Artifact,
  artifactTest,
  commit,
  download,
  listed,
  open,
  register,
  sha256,
  upload,
} from "../conformance/artifacts.ts";
import { withStackDatabase } from "../database/connection.ts";
import { startOwnFunction } from "../own_function/own_function.ts";
import { gate, startProxy } from "../own_function/proxy.ts";

function unavailable(): Response {
  return new Response("overloaded", { status: 503 });
}

/** The steps of a commit behind /commit, by the path of their call. */
const STEPS = {
  "before the move": "/object/move",
  "between the move and the reading": "/object/info/",
  "while the bytes are read": "/object/authenticated/",
  "between the reading and the verdict": "/rpc/finish_commit",
};

for (const [when, path] of Object.entries(STEPS)) {
  artifactTest(
    `kill -9 of the function ${when} → after the lease, repeating /commit succeeds`,
    async ({ planner }) => {
      const registered = await register(planner);
      assert.equal(await upload(registered.upload_url, "hello"), 200);
      const step = gate();
      {
        await using proxy = startProxy(
          SUPABASE_URL,
          // Held, and then not passed on: the call dies with its caller.
          (passing) => passing.path.includes(path) ? step.wait().then(unavailable) : undefined,
        );
        await using own = await startOwnFunction({ supabaseUrl: proxy.url });
        const body = { artifact_id: registered.artifact_id, sha256: sha256("hello") };
        const lost = own.post("/commit", { as: planner, body }).catch(() => "connection lost");
        await step.arrived;
        await own.process.kill();
        assert.equal(await lost, "connection lost");
        step.open();
      }
      assertError(await commit(planner, registered, sha256("hello")), 409, "commit_in_progress");
      await withStackDatabase((sql) =>
        sql`update artifacts.verifications set lease_expires_at = now()
          where artifact_id = ${registered.artifact_id}`
      );
      const repeated = await commit(planner, registered, sha256("hello"));
      assert.equal(repeated.status, 200, JSON.stringify(repeated.body));
      assert.deepEqual(await listed(planner), [repeated.body]);
      assert.equal(await download((await open(planner, registered)).body.url), "hello");
    },
  );

  artifactTest(
    `Storage or PostgREST failing ${when} → 503 with retry-after; the same request repeated succeeds`,
    async ({ planner }) => {
      const registered = await register(planner);
      await upload(registered.upload_url, "hello");
      await using proxy = startProxy(SUPABASE_URL, (passing) => {
        return passing.path.includes(path)
          ? new Response("overloaded", { status: 503 })
          : undefined;
      });
      await using own = await startOwnFunction({ supabaseUrl: proxy.url });
      const body = { artifact_id: registered.artifact_id, sha256: sha256("hello") };
      const failed = await own.post("/commit", { as: planner, body });
      assertError(failed, 503, "upstream_unavailable");
      assert.ok(Number(failed.headers.get("retry-after")) > 0);
      assert.deepEqual(await listed(planner), []);

      proxy.intercept(() => {});
      const repeated = await own.post<Artifact>("/commit", { as: planner, body });
      assert.equal(repeated.status, 200, JSON.stringify(repeated.body));
      assert.equal(repeated.body.state, "committed");
    },
  );
}

artifactTest(
  "a download that is cut off says nothing about the object → 503, and the object is still good",
  async ({ planner }) => {
    const registered = await register(planner);
    await upload(registered.upload_url, "hello");
    await using proxy = startProxy(SUPABASE_URL, (passing) => {
      return passing.path.includes("/object/authenticated/") ? new Response("hel") : undefined;
    });
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    const body = { artifact_id: registered.artifact_id, sha256: sha256("hello") };
    assertError(await own.post("/commit", { as: planner, body }), 503, "upstream_unavailable");
    proxy.intercept(() => {});
    assert.equal((await own.post("/commit", { as: planner, body })).status, 200);
  },
);

artifactTest(
  "a download that goes on beyond the object's size is ended → 503, and the object is still good",
  async ({ planner }) => {
    const registered = await register(planner);
    await upload(registered.upload_url, "hello");
    let sentBytes = 0;
    await using proxy = startProxy(SUPABASE_URL, (passing) => {
      if (!passing.path.includes("/object/authenticated/")) return undefined;
      return new Response(
        new ReadableStream({
          pull(controller) {
            sentBytes += 65_536;
            controller.enqueue(new Uint8Array(65_536));
            if (sentBytes > 64 * 1024 * 1024) controller.close();
          },
        }),
      );
    });
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    const body = { artifact_id: registered.artifact_id, sha256: sha256("hello") };
    assertError(await own.post("/commit", { as: planner, body }), 503, "upstream_unavailable");
    assert.ok(sentBytes < 32 * 1024 * 1024, `${sentBytes} bytes were sent`);
    proxy.intercept(() => {});
    assert.equal((await own.post("/commit", { as: planner, body })).status, 200);
  },
);

artifactTest(
  "a delete while a commit verifies → the commit is 410, the artifact stays deleted",
  async ({ planner }) => {
    const registered = await register(planner);
    await upload(registered.upload_url, "hello");
    const verdict = gate();
    await using proxy = startProxy(
      SUPABASE_URL,
      (passing) => passing.path.includes("/rpc/finish_commit") ? verdict.wait() : undefined,
    );
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    const { artifact_id } = registered;
    const committing = own.post("/commit", {
      as: planner,
      body: { artifact_id, sha256: sha256("hello") },
    });
    await verdict.arrived;
    const deleted = await own.post<Artifact>("/delete", { as: planner, body: { artifact_id } });
    assert.equal(deleted.body.state, "deleted");
    verdict.open();
    assertError(await committing, 410, "artifact_expired");
    assertError(await open(planner, registered), 410, "artifact_expired");
  },
);

artifactTest(
  "a commit whose lease ran out meanwhile decides nothing: the next one's verdict stands",
  async ({ planner }) => {
    const registered = await register(planner);
    await upload(registered.upload_url, "hello");
    const { artifact_id } = registered;
    const verdict = gate();
    await using proxy = startProxy(
      SUPABASE_URL,
      (passing) => passing.path.includes("/rpc/finish_commit") ? verdict.wait() : undefined,
    );
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    // The slow one was given a wrong digest: under its lease it would reject the object, and remove it.
    const slow = own.post("/commit", {
      as: planner,
      body: { artifact_id, sha256: sha256("jello") },
    });
    await verdict.arrived;
    await withStackDatabase((sql) =>
      sql`update artifacts.verifications set lease_expires_at = now() where artifact_id = ${artifact_id}`
    );
    assert.equal((await commit(planner, registered, sha256("hello"))).status, 200);
    verdict.open();
    assertError(await slow, 409, "commit_in_progress");
    assert.equal(await download((await open(planner, registered)).body.url), "hello");
  },
);
