import assert from "node:assert/strict";
import {
  artifactTest,
  download,
  open,
  register,
  registerAndUpload,
  upload,
} from "../conformance/artifacts.ts";
import { assertError } from "../conformance/client.ts";
import { withStackDatabase } from "../database/connection.ts";
import { objectsOf, sweepAll } from "../database/sweep/sweeping.ts";
import { age, commitBy } from "../own_function/commits/commits.ts";
import { startOwnFunction } from "../own_function/own_function.ts";

/** With this limit, five bytes take three calls of /commit. */
const THREE_CALLS = { ARTIFACTS_COMMIT_BYTES_PER_CALL: "2" };

artifactTest(
  "/commit whose caller never comes back after a 202 → swept when no backup can need the bytes",
  async ({ planner }) => {
    await using own = await startOwnFunction({ environment: THREE_CALLS });
    const artifact = await registerAndUpload(planner);
    const { artifact_id } = artifact;
    assert.equal((await commitBy(own, { owner: planner, artifact })).status, 202);

    await age(artifact, { artifactHours: 15 * 24, progressHours: 25 });
    await sweepAll();
    const sealed = `sealed/${artifact_id}/1`;
    assert.deepEqual(await objectsOf(artifact), [sealed], "the upload is younger than 14 days");

    await withStackDatabase((sql) =>
      sql`update storage.objects set created_at = now() - interval '15 days' where name = ${sealed}`
    );
    await sweepAll();
    assert.deepEqual(await objectsOf(artifact), []);
    assertError(await commitBy(own, { owner: planner, artifact }), 410, "artifact_expired");
    const events = await withStackDatabase((sql) =>
      sql`select action from agents.events where object_id = ${artifact_id} order by event_id`
    );
    assert.deepEqual(events.map((event) => event["action"]), [
      "artifact.registered",
      "artifact.abandoned",
    ]);
  },
);

artifactTest(
  "PUT of a new upload after each 202 of /commit → all but the last are swept, which is committed",
  async ({ planner }) => {
    await using own = await startOwnFunction({ environment: THREE_CALLS });
    const artifact = await register(planner);
    const commitOnce = async () => (await commitBy(own, { owner: planner, artifact })).status;
    for (const _ of ["first", "second", "third"]) {
      assert.equal(await upload(artifact.upload_url, "hello"), 200);
      assert.equal(await commitOnce(), 202);
    }
    await sweepAll();
    assert.deepEqual(await objectsOf(artifact), [`sealed/${artifact.artifact_id}/3`]);

    assert.equal(await commitOnce(), 202);
    assert.equal(await commitOnce(), 200);
    assert.equal(await download((await open(planner, artifact)).body.url), "hello");
  },
);
