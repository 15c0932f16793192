import assert from "node:assert/strict";
import { type Agent, type Answer, assertError, post } from "../client.ts";
import {
  type Artifact,
  artifactTest,
  commit,
  grant,
  inbox,
  listed,
  open,
  publish,
  redeem,
  register,
  sha256,
  upload,
} from "../artifacts.ts";

function remove(
  as: Agent | "operator" | "nobody",
  { artifact_id }: { artifact_id: string },
): Promise<Answer<Artifact>> {
  return post<Artifact>("/agent-artifacts/delete", { as, body: { artifact_id } });
}

artifactTest(
  "/delete → the artifact, now deleted; its grants end; every use of it is 410",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const { token } = await grant(planner, artifact, { to: builder });
    const answer = await remove(planner, artifact);
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.body, { ...artifact, state: "deleted" });
    assert.deepEqual(await listed(planner), []);
    assert.deepEqual(await inbox(builder), []);
    assertError(await redeem(token), 410, "artifact_expired");
    assertError(await open(planner, artifact), 410, "artifact_expired");
    assertError(await open(builder, artifact), 404, "artifact_not_found");
    assertError(await commit(planner, artifact, sha256("hello")), 410, "artifact_expired");
    assert.deepEqual((await remove(planner, artifact)).body, answer.body, "a repeated delete");
  },
);

artifactTest(
  "/delete of a pending artifact → it cannot be committed any more",
  async ({ planner }) => {
    const registered = await register(planner);
    await upload(registered.upload_url, "hello");
    assert.equal((await remove(planner, registered)).body.state, "deleted");
    assertError(await commit(planner, registered, sha256("hello")), 410, "artifact_expired");
  },
);

artifactTest(
  "/delete of the current artifact of a key does not bring the superseded one back",
  async ({ planner }) => {
    const older = await publish(planner, { key: "k", content: "older" });
    const newer = await publish(planner, { key: "k", content: "newer" });
    await remove(planner, newer);
    assert.deepEqual(await listed(planner), []);
    assert.equal((await commit(planner, older, sha256("older"))).body.state, "superseded");
    assert.equal((await open(planner, older)).status, 200);
  },
);

artifactTest("/delete of a superseded artifact leaves the current one", async ({ planner }) => {
  const older = await publish(planner, { key: "k", content: "older" });
  const newer = await publish(planner, { key: "k", content: "newer" });
  assert.equal((await remove(planner, older)).body.state, "deleted");
  assert.deepEqual(await listed(planner), [newer]);
});

artifactTest(
  "/delete by anybody but the owner and the operator → 404, and the artifact stays",
  async ({ planner, builder, stranger }) => {
    const artifact = await publish(planner);
    await grant(planner, artifact, { to: builder });
    assertError(await remove(stranger, artifact), 404, "artifact_not_found");
    assertError(await remove(builder, artifact), 404, "artifact_not_found");
    assertError(await remove("nobody", artifact), 401, "unauthenticated");
    assert.deepEqual(await listed(planner), [artifact]);
    assert.equal((await remove("operator", artifact)).body.state, "deleted");
  },
);
