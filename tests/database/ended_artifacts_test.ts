import assert from "node:assert/strict";
import { type Agent, assertError, post, succeed } from "../conformance/client.ts";
import {
  artifactTest,
  commit,
  grant,
  inbox,
  listed,
  open,
  publish,
  redeem,
  register,
  secondsFromNow,
  sha256,
  upload,
} from "../conformance/artifacts.ts";
import { withStackDatabase } from "./connection.ts";
import { objectsOf, sweepAll } from "./sweep/sweeping.ts";

interface Named {
  readonly artifact_id: string;
}

async function assertEndedForOwner(owner: Agent, artifact: Named): Promise<void> {
  const { artifact_id } = artifact;
  const to_agent = owner.id;
  const expires_at = secondsFromNow(60);
  assertError(await commit(owner, artifact, sha256("hello")), 410, "artifact_expired");
  assertError(await open(owner, artifact), 410, "artifact_expired");
  const bodies = { "/grant": { artifact_id, to_agent, expires_at }, "/delete": { artifact_id } };
  for (const [path, body] of Object.entries(bodies)) {
    const answer = await post(`/agent-artifacts${path}`, { as: owner, body });
    assertError(answer, 410, "artifact_expired");
  }
}

artifactTest(
  "an abandoned artifact, once swept → its upload is gone, every use of it is 410, 404 for others",
  async ({ planner, stranger }) => {
    const registered = await register(planner);
    await upload(registered.upload_url, "hello");
    await withStackDatabase((sql) =>
      sql`update artifacts.artifacts set created_at = now() - interval '27 hours'
      where artifact_id = ${registered.artifact_id}`
    );
    await sweepAll();
    assert.deepEqual(await objectsOf(registered), []);
    await assertEndedForOwner(planner, registered);
    assertError(await commit(stranger, registered, sha256("hello")), 404, "artifact_not_found");
    assertError(await open(stranger, registered), 404, "artifact_not_found");

    // The upload URL still works, as for a long PUT that began in time.
    assert.equal(await upload(registered.upload_url, "hello"), 200);
    await assertEndedForOwner(planner, registered);
    await sweepAll();
    assert.deepEqual(await objectsOf(registered), []);
  },
);

artifactTest(
  "an expired artifact, once swept → its bytes are gone, 410 for its owner and by token, 404 by grant",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const { token } = await grant(planner, artifact, { to: builder });
    await withStackDatabase((sql) =>
      sql`update artifacts.artifacts set expires_at = now() - interval '3 minutes'
      where artifact_id = ${artifact.artifact_id}`
    );
    await sweepAll();
    assert.deepEqual(await objectsOf(artifact), []);
    await assertEndedForOwner(planner, artifact);
    assertError(await redeem(token), 410, "artifact_expired");
    assertError(await open(builder, artifact), 404, "artifact_not_found");
    assert.deepEqual(await inbox(builder), []);
    assert.deepEqual(await listed(planner), []);
    const next = await publish(planner);
    assert.deepEqual(await listed(planner), [next]);
  },
);

artifactTest(
  "a deleted artifact, once swept → its bytes are gone, and a repeated /delete is answered as before",
  async ({ planner }) => {
    const artifact = await publish(planner);
    const request = { as: planner, body: { artifact_id: artifact.artifact_id } };
    const deleted = await succeed("/agent-artifacts/delete", request);
    await sweepAll();
    assert.deepEqual(
      await objectsOf(artifact),
      [`sealed/${artifact.artifact_id}/1`],
      "while a download URL may still work",
    );
    await withStackDatabase((sql) =>
      sql`update artifacts.artifacts set deleted_at = now() - interval '3 minutes'
      where artifact_id = ${artifact.artifact_id}`
    );
    await sweepAll();
    assert.deepEqual(await objectsOf(artifact), []);
    assert.deepEqual(await succeed("/agent-artifacts/delete", request), deleted);
    assertError(await open(planner, artifact), 410, "artifact_expired");
  },
);
