import assert from "node:assert/strict";
import { assertError } from "../conformance/client.ts";
import {
  artifactTest,
  download,
  open,
  register,
  sha256,
  upload,
} from "../conformance/artifacts.ts";
import { withStackDatabase } from "../database/connection.ts";
import { objectsOf, sweepAll } from "../database/sweeping.ts";
import { startOwnFunction } from "../own_function/own_function.ts";

artifactTest(
  "a commit whose caller never comes back after the first 202 → swept as abandoned, when no backup can be from before its end",
  async ({ planner }) => {
    await using own = await startOwnFunction({
      environment: { ARTIFACTS_COMMIT_BYTES_PER_CALL: "2" },
    });
    const registered = await register(planner);
    await upload(registered.upload_url, "hello");
    const { artifact_id } = registered;
    const body = { artifact_id, sha256: sha256("hello") };
    assert.equal((await own.post("/commit", { as: planner, body })).status, 202);

    await withStackDatabase((sql) =>
      sql`with paused as (
          update artifacts.verifications set progress_at = now() - interval '25 hours'
          where artifact_id = ${artifact_id}
        )
        update artifacts.artifacts set created_at = now() - interval '15 days'
        where artifact_id = ${artifact_id}`
    );
    await sweepAll();
    const sealed = [`sealed/${artifact_id}/1`];
    assert.deepEqual(await objectsOf(registered), sealed, "the upload is younger than 14 days");

    await withStackDatabase((sql) =>
      sql`update storage.objects set created_at = now() - interval '15 days'
        where name = ${sealed[0]!}`
    );
    await sweepAll();
    assert.deepEqual(await objectsOf(registered), []);
    assertError(await own.post("/commit", { as: planner, body }), 410, "artifact_expired");
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
  "uploads that were replaced before all of their bytes were verified → swept; the last is committed",
  async ({ planner }) => {
    await using own = await startOwnFunction({
      environment: { ARTIFACTS_COMMIT_BYTES_PER_CALL: "2" },
    });
    const registered = await register(planner);
    const body = { artifact_id: registered.artifact_id, sha256: sha256("hello") };
    for (const _ of ["first", "second", "third"]) {
      assert.equal(await upload(registered.upload_url, "hello"), 200);
      assert.equal((await own.post("/commit", { as: planner, body })).status, 202);
    }
    await sweepAll();
    assert.deepEqual(await objectsOf(registered), [`sealed/${registered.artifact_id}/3`]);

    assert.equal((await own.post("/commit", { as: planner, body })).status, 202);
    assert.equal((await own.post("/commit", { as: planner, body })).status, 200);
    const { body: access } = await open(planner, registered);
    assert.equal(await download(access.url), "hello");
  },
);
