import assert from "node:assert/strict";
import {
  type Artifact,
  artifactTest,
  commit,
  download,
  listed,
  open,
  registerAndUpload,
  sha256,
} from "../conformance/artifacts.ts";
import { type Agent, assertError, SUPABASE_URL } from "../conformance/client.ts";
import { commitBy, endLease } from "../own_function/commits/commits.ts";
import { startOwnFunction } from "../own_function/own_function.ts";
import { gate, type Intercept, startProxy, swallowing } from "../own_function/proxy.ts";

const READING = "/object/authenticated/";

artifactTest(
  "kill -9 of the function while it verifies → 409 while the lease lasts, then /commit is 200",
  async ({ planner }) => {
    const artifact = await registerAndUpload(planner);
    const reading = gate();
    {
      await using proxy = startProxy(SUPABASE_URL, swallowing(READING, reading));
      await using own = await startOwnFunction({ supabaseUrl: proxy.url });
      const lost = commitBy(own, { owner: planner, artifact }).catch(() => "connection lost");
      await reading.arrived;
      await own.process.kill();
      assert.equal(await lost, "connection lost");
      reading.open();
    }
    assertError(await commit(planner, artifact, sha256("hello")), 409, "commit_in_progress");
    assert.deepEqual(await listed(planner), []);
    await endLease(artifact);
    const repeated = await commit(planner, artifact, sha256("hello"));
    assert.equal(repeated.status, 200, JSON.stringify(repeated.body));
    assert.deepEqual(await listed(planner), [repeated.body]);
  },
);

artifactTest(
  "/commit whose download is cut off → 503, which says nothing about the object; repeated → 200",
  async ({ planner }) => {
    const artifact = await registerAndUpload(planner);
    await commitFailsOnce(
      planner,
      artifact,
      (passing) => passing.path.includes(READING) ? new Response("hel") : undefined,
    );
  },
);

artifactTest(
  "/commit whose download does not end at the object's size → ended, 503; repeated → 200",
  async ({ planner }) => {
    const artifact = await registerAndUpload(planner);
    let sentBytes = 0;
    const endless = () =>
      new ReadableStream({
        pull(controller) {
          sentBytes += 65_536;
          controller.enqueue(new Uint8Array(65_536));
          if (sentBytes > 64 * 1024 * 1024) controller.close();
        },
      });
    await commitFailsOnce(
      planner,
      artifact,
      (passing) => passing.path.includes(READING) ? new Response(endless()) : undefined,
    );
    assert.ok(sentBytes < 32 * 1024 * 1024, `${sentBytes} bytes were sent`);
  },
);

/**
 * Asserts that /commit under this interception answers 503 and leaves the artifact unchanged, and
 * that the same request succeeds afterwards. Returns the headers of the 503.
 */
async function commitFailsOnce(
  owner: Agent,
  artifact: Artifact,
  intercept: Intercept,
): Promise<Headers> {
  await using proxy = startProxy(SUPABASE_URL, intercept);
  await using own = await startOwnFunction({ supabaseUrl: proxy.url });
  const failed = await commitBy(own, { owner, artifact });
  assertError(failed, 503, "upstream_unavailable");
  assert.deepEqual(await listed(owner), []);

  proxy.letPass();
  const repeated = await commitBy(own, { owner, artifact });
  assert.equal(repeated.status, 200, JSON.stringify(repeated.body));
  assert.equal(repeated.body.state, "committed");
  assert.equal(await download((await open(owner, artifact)).body.url), "hello");
  return failed.headers;
}
