import assert from "node:assert/strict";
import { type Agent, assertError } from "../../conformance/client.ts";
import {
  artifactTest,
  commit,
  deleteArtifact,
  register,
  type Registered,
  sha256,
  upload,
} from "../../conformance/artifacts.ts";
import { withStackDatabase } from "../../database/connection.ts";
import { objectsOf, sweepAll } from "../../database/sweep/sweeping.ts";
import { countArtifacts, registerBytes } from "./limits.ts";
import { startOwnFunction } from "../own_function.ts";

const QUOTA = { environment: { ARTIFACTS_QUOTA_BYTES: "1000" } };
const SURPLUS = "x".repeat(2000);

/** Moves the time when the surplus was seen 61 minutes into the past. */
async function letAnHourPass({ artifact_id }: Registered): Promise<void> {
  await withStackDatabase((sql) =>
    sql`update artifacts.artifacts set surplus_seen_at = surplus_seen_at - interval '61 minutes'
      where artifact_id = ${artifact_id}`
  );
}

/** The surplus that the limits use. Asserts that it agrees with the rows. */
async function surplusOf(agent: Agent): Promise<number> {
  const [row] = await withStackDatabase((sql) =>
    sql`select t.surplus_bytes::integer as kept, c.surplus_bytes::integer as counted
      from artifacts.totals t, artifacts.count_totals(${agent.id}) c
      where t.agent_id = ${agent.id}`
  );
  assert.equal(row!["kept"], row!["counted"]);
  return row!["kept"];
}

artifactTest(
  "bytes PUT after the commit → against the quota of the owner from the sweep on, until an hour has passed",
  async ({ planner, builder }) => {
    await using own = await startOwnFunction(QUOTA);
    const artifact = await register(planner, { content: "1" });
    await upload(artifact.upload_url, "1");
    assert.equal((await commit(planner, artifact, sha256("1"))).status, 200);
    assert.equal(await upload(artifact.upload_url, SURPLUS), 200);
    assert.equal((await registerBytes(own, planner, 1)).status, 200, "not seen yet");

    await sweepAll();
    assert.deepEqual(await objectsOf(artifact), [`sealed/${artifact.artifact_id}/1`]);
    assert.equal(await surplusOf(planner), 2000);
    const rows = await countArtifacts(planner);
    for (const size of [0, 1]) {
      const refused = await registerBytes(own, planner, size);
      assert.deepEqual(assertError(refused, 409, "quota_exceeded"), {
        quota_bytes: 1000,
        held_bytes: 2002,
      });
    }
    assert.equal(await countArtifacts(planner), rows);
    assert.equal((await registerBytes(own, builder, 1000)).status, 200, "another agent");

    // The surplus counts again after each sweep.
    await letAnHourPass(artifact);
    assert.equal(await upload(artifact.upload_url, SURPLUS), 200);
    await sweepAll();
    await sweepAll();
    assert.equal(await surplusOf(planner), 2000);
    assertError(await registerBytes(own, planner, 1), 409, "quota_exceeded");

    await letAnHourPass(artifact);
    await sweepAll();
    assert.equal(await surplusOf(planner), 0);
    assert.equal((await registerBytes(own, planner, 1)).status, 200);
  },
);

artifactTest(
  "an upload larger than registered → what is beyond counts; the registered size alone does not",
  async ({ planner }) => {
    await using own = await startOwnFunction(QUOTA);
    const right = await register(planner, { content: "x".repeat(400) });
    assert.equal(await upload(right.upload_url, "x".repeat(400)), 200);
    await sweepAll();
    assert.equal(await surplusOf(planner), 0);

    const tooLarge = await register(planner, { content: "1" });
    assert.equal(await upload(tooLarge.upload_url, SURPLUS), 200);
    await sweepAll();
    assert.equal(await surplusOf(planner), 1999);
    const refused = await registerBytes(own, planner, 1);
    assert.deepEqual(assertError(refused, 409, "quota_exceeded"), {
      quota_bytes: 1000,
      held_bytes: 2400,
    });

    // After the deletion, all its bytes are surplus.
    assert.equal((await deleteArtifact(planner, tooLarge)).status, 200);
    await sweepAll();
    assert.equal(await surplusOf(planner), 2000);
    assert.equal((await objectsOf(tooLarge)).length, 1, "while a commit may be at work on it");
  },
);
