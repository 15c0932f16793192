import assert from "node:assert/strict";
import {
  artifactTest,
  commit,
  deleteArtifact,
  download,
  listed,
  open,
  register,
  registerAndUpload,
  type Registered,
  sha256,
  upload,
} from "../../conformance/artifacts.ts";
import { assertError, SECRET_KEY, SUPABASE_URL } from "../../conformance/client.ts";
import { commitBy, endLease } from "./commits.ts";
import { startOwnFunction } from "../own_function.ts";
import { gate, holding, type Passing, startProxy } from "../proxy.ts";

const VERDICT = "/rpc/agent_api_finish_commit";
const INFO = "/object/info/";
const READING = "/object/authenticated/";

/** Replaces an upload with other content. Its upload URL alone does not allow that. */
async function replaceUpload({ artifact_id, upload_url }: Registered, content: string) {
  const removed = await fetch(`${SUPABASE_URL}/storage/v1/object/agent-artifacts`, {
    method: "DELETE",
    headers: { apikey: SECRET_KEY, "content-type": "application/json" },
    body: JSON.stringify({ prefixes: [`incoming/${artifact_id}`] }),
  });
  assert.equal((await removed.json()).length, 1);
  assert.equal(await upload(upload_url, content), 200);
}

function isTo(part: string) {
  return ({ path }: Passing) => path.includes(part);
}

artifactTest(
  "/delete while /commit verifies → the commit is 410, the artifact stays deleted",
  async ({ planner }) => {
    const artifact = await registerAndUpload(planner);
    const verdict = gate();
    await using proxy = startProxy(SUPABASE_URL, holding(VERDICT, verdict));
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    const committing = commitBy(own, { owner: planner, artifact });
    await verdict.arrived;
    assert.equal((await deleteArtifact(planner, artifact)).body.state, "deleted");
    verdict.open();
    assertError(await committing, 410, "artifact_expired");
    assertError(await open(planner, artifact), 410, "artifact_expired");
    assert.deepEqual(await listed(planner), []);
  },
);

artifactTest(
  "/commit whose lease ran out while it verified → 409; the verdict of the next one stands",
  async ({ planner }) => {
    const artifact = await registerAndUpload(planner);
    const verdict = gate();
    await using proxy = startProxy(SUPABASE_URL, holding(VERDICT, verdict));
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    // The digest is wrong: with a valid lease, this commit would reject and delete the object.
    const slow = commitBy(own, { owner: planner, artifact, digest: sha256("jello") });
    await verdict.arrived;
    await endLease(artifact);
    const next = await commit(planner, artifact, sha256("hello"));
    assert.equal(next.status, 200);
    verdict.open();
    assertError(await slow, 409, "commit_in_progress");
    assert.deepEqual(await listed(planner), [next.body]);
    assert.equal(await download((await open(planner, artifact)).body.url), "hello");
  },
);

for (const other of ["hello, world", "hell"]) {
  artifactTest(
    `an upload of 5 bytes replaced by one of ${other.length} when /commit has begun → 422 size_mismatch; the right bytes → 200`,
    async ({ planner }) => {
      await using proxy = startProxy(SUPABASE_URL);
      await using own = await startOwnFunction({ supabaseUrl: proxy.url });
      const artifact = await registerAndUpload(planner);
      proxy.intercept(async ({ path }) => {
        if (path.endsWith("/object/move")) await replaceUpload(artifact, other);
      });
      const refused = await commitBy(own, { owner: planner, artifact });
      assert.deepEqual(assertError(refused, 422, "size_mismatch"), {
        expected: 5,
        actual: other.length,
      });
      assert.deepEqual(await listed(planner), []);

      assert.equal(await upload(artifact.upload_url, "hello"), 200);
      assert.equal((await commit(planner, artifact, sha256("hello"))).status, 200);
    },
  );
}

artifactTest(
  "an upload replaced by one of the same size when /commit has begun → 422 checksum_mismatch",
  async ({ planner }) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    const artifact = await registerAndUpload(planner);
    proxy.intercept(async ({ path }) => {
      if (path.endsWith("/object/move")) await replaceUpload(artifact, "jello");
    });
    const refused = await commitBy(own, { owner: planner, artifact });
    assert.deepEqual(assertError(refused, 422, "checksum_mismatch"), {
      expected: sha256("hello"),
      actual: sha256("jello"),
    });
    assert.deepEqual(await listed(planner), []);
  },
);

artifactTest(
  "/commit of an upload of another size → 422 size_mismatch without reading a byte",
  async ({ planner }) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    const artifact = await register(planner);
    assert.equal(await upload(artifact.upload_url, "hello, world"), 200);
    const refused = await commitBy(own, { owner: planner, artifact });
    assertError(refused, 422, "size_mismatch");
    assert.equal(proxy.passed.some(isTo(READING)), false);
  },
);

artifactTest(
  "/commit where the database does not know the size → Storage is asked; 200",
  async ({ planner }) => {
    await using proxy = startProxy(SUPABASE_URL, async ({ path }, forward) => {
      if (!path.endsWith("/rpc/agent_api_begin_commit")) return;
      const begun = await (await forward()).json();
      return Response.json({ ...begun, object: { ...begun.object, size: null } });
    });
    await using own = await startOwnFunction({ supabaseUrl: proxy.url });
    const artifact = await registerAndUpload(planner);
    assert.equal((await commitBy(own, { owner: planner, artifact })).status, 200);
    assert.equal(proxy.passed.filter(isTo(INFO)).length, 1);
  },
);
