import assert from "node:assert/strict";
import { assertError } from "../client.ts";
import {
  artifactTest,
  commit,
  deleteArtifact,
  grant,
  inbox,
  leavesUnchanged,
  listed,
  open,
  publish,
  redeem,
  registerAndUpload,
  sha256,
} from "../artifacts.ts";

artifactTest(
  "/delete → the artifact, now deleted; its grants end; every use of it by its owner is 410",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const { token } = await grant(planner, artifact, { to: builder });
    const answer = await deleteArtifact(planner, artifact);
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.body, { ...artifact, state: "deleted" });
    assert.deepEqual(await listed(planner), []);
    assert.deepEqual(await inbox(builder), []);
    assertError(await redeem(token), 410, "artifact_expired");
    assertError(await open(planner, artifact), 410, "artifact_expired");
    assertError(await open(builder, artifact), 404, "artifact_not_found");
    assertError(await commit(planner, artifact, sha256("hello")), 410, "artifact_expired");
    assert.deepEqual(
      (await deleteArtifact(planner, artifact)).body,
      answer.body,
      "the same answer to a repeated delete",
    );
  },
);

artifactTest(
  "/delete of a pending artifact → it can no longer be committed",
  async ({ planner }) => {
    const registered = await registerAndUpload(planner);
    assert.equal((await deleteArtifact(planner, registered)).body.state, "deleted");
    assertError(await commit(planner, registered, sha256("hello")), 410, "artifact_expired");
  },
);

artifactTest(
  "/delete of a key's current artifact → the superseded one does not come back",
  async ({ planner }) => {
    const older = await publish(planner, { key: "k", content: "older" });
    const newer = await publish(planner, { key: "k", content: "newer" });
    await deleteArtifact(planner, newer);
    assert.deepEqual(await listed(planner), []);
    assert.equal((await commit(planner, older, sha256("older"))).body.state, "superseded");
    assert.equal((await open(planner, older)).status, 200);
  },
);

artifactTest("/delete of a superseded artifact → the current one stays", async ({ planner }) => {
  const older = await publish(planner, { key: "k", content: "older" });
  const newer = await publish(planner, { key: "k", content: "newer" });
  assert.equal((await deleteArtifact(planner, older)).body.state, "deleted");
  assert.deepEqual(await listed(planner), [newer]);
});

artifactTest(
  "/delete by anybody but the owner and the operator → 404 or 401, and nothing changes",
  async ({ planner, builder, stranger }) => {
    const artifact = await publish(planner);
    await grant(planner, artifact, { to: builder });
    await leavesUnchanged([planner, builder, stranger], async () => {
      assertError(await deleteArtifact(stranger, artifact), 404, "artifact_not_found");
      assertError(await deleteArtifact(builder, artifact), 404, "artifact_not_found");
      assertError(await deleteArtifact("nobody", artifact), 401, "unauthenticated");
    });
    assert.deepEqual(await listed(planner), [artifact]);
    assert.equal((await deleteArtifact("operator", artifact)).body.state, "deleted");
  },
);
