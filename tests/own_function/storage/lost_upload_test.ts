import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { stateFiles } from "../../../packages/local/state/state_files.ts";
import {
  artifactTest,
  commit,
  download,
  listed,
  open,
  registerAndUpload,
  sha256,
  upload,
} from "../../conformance/artifacts.ts";
import { assertError, SUPABASE_URL } from "../../conformance/client.ts";
import { withStackDatabase } from "../../database/connection.ts";
import { commitBy } from "../commits/commits.ts";
import { startOwnFunction } from "../own_function.ts";
import { failing, startProxy } from "../proxy.ts";

/** The answer of Storage on S3 if Storage has the row of an object, but S3 has lost its bytes. */
function bytesGone(): Response {
  return Response.json(
    {
      statusCode: "404",
      error: "Not found",
      message: "The resource was not found",
      code: "NoSuchKey",
    },
    { status: 400 },
  );
}

const LOST = {
  "before it is moved": "/object/move",
  "once it is sealed": "/object/authenticated/",
};

for (const [when, call] of Object.entries(LOST)) {
  artifactTest(
    `/commit of an upload whose bytes Storage lost ${when} → 409 upload_missing; PUT again → 200`,
    async ({ planner }) => {
      const artifact = await registerAndUpload(planner);
      await using proxy = startProxy(SUPABASE_URL);
      await using own = await startOwnFunction({ supabaseUrl: proxy.url });
      proxy.intercept(({ path }) => path.includes(call) ? bytesGone() : undefined);
      const refused = await commitBy(own, { owner: planner, artifact });
      assertError(refused, 409, "upload_missing");
      assert.match(JSON.stringify(refused.body), /PUT them .* again/);
      assert.deepEqual(await listed(planner), []);

      proxy.letPass();
      assert.equal(await upload(artifact.upload_url, "hello"), 200);
      assert.equal((await commitBy(own, { owner: planner, artifact })).status, 200);
      assert.equal(await download((await open(planner, artifact)).body.url), "hello");
    },
  );
}

artifactTest(
  "/commit whose upload an earlier move took away → 503, nothing is removed; repeated → 200",
  async ({ planner }) => {
    const artifact = await registerAndUpload(planner);
    await using proxy = startProxy(SUPABASE_URL, async ({ path }, forward) => {
      if (!path.endsWith("/object/move")) return undefined;
      await (await forward()).body?.cancel();
      return bytesGone();
    });
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    assertError(await commitBy(own, { owner: planner, artifact }), 503, "upstream_unavailable");
    proxy.letPass();
    assert.equal((await commitBy(own, { owner: planner, artifact })).status, 200);
  },
);

artifactTest(
  "/commit where Storage does not say that it lost the file → 503, which names /register",
  async ({ planner }) => {
    const artifact = await registerAndUpload(planner);
    const [row] = await withStackDatabase((sql) =>
      sql`select version from storage.objects where name = ${`incoming/${artifact.artifact_id}`}`
    );
    const { storage } = stateFiles(Deno.env.get("STATE_DIR")!);
    await rm(join(storage, "objects", row?.["version"]));
    const refused = await commit(planner, artifact, sha256("hello"));
    assertError(refused, 503, "upstream_unavailable");
    assert.match(JSON.stringify(refused.body), /start again with \/register/);
    assert.deepEqual(await listed(planner), []);
  },
);

artifactTest(
  "/commit whose lease cannot be given back after a failed move → 503; no move while it lasts",
  async ({ planner }) => {
    const artifact = await registerAndUpload(planner);
    await using proxy = startProxy(
      SUPABASE_URL,
      ({ path }) =>
        path.endsWith("/object/move") || path.endsWith("/rpc/agent_api_release_commit")
          ? new Response("overloaded", { status: 503 })
          : undefined,
    );
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    assertError(await commitBy(own, { owner: planner, artifact }), 503, "upstream_unavailable");
    proxy.intercept(failing("/object/move"));
    assertError(await commitBy(own, { owner: planner, artifact }), 409, "commit_in_progress");
  },
);
