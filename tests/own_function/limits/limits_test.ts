import assert from "node:assert/strict";
import { assertError } from "../../conformance/client.ts";
import {
  artifactTest,
  deleteArtifact,
  type Grant,
  inbox,
  listed,
  publish,
  registerAndUpload,
  secondsFromNow,
  sha256,
  upload,
} from "../../conformance/artifacts.ts";
import { withStackDatabase } from "../../database/connection.ts";
import { commitBy } from "../commits/commits.ts";
import { countArtifacts, registerBytes } from "./limits.ts";
import { startOwnFunction } from "../own_function.ts";

artifactTest(
  "32 /register at once against a quota with room for 10 → 10 are 200, the others 409, no row",
  async ({ planner }) => {
    await using own = await startOwnFunction({ environment: { ARTIFACTS_QUOTA_BYTES: "1000" } });
    const answers = await Promise.all(
      Array.from({ length: 32 }, () => registerBytes(own, planner, 100)),
    );
    assert.equal(answers.filter(({ status }) => status === 200).length, 10);
    for (const answer of answers) {
      if (answer.status === 200) continue;
      assert.deepEqual(assertError(answer, 409, "quota_exceeded"), {
        quota_bytes: 1000,
        held_bytes: 1000,
      });
      assert.equal("upload_url" in answer.body, false);
    }
    assert.equal(await countArtifacts(planner), 10, "a refused registration leaves no row");
  },
);

artifactTest(
  "/register beyond the agent's quota → 409; after a deletion or an expiry → 200",
  async ({ planner, builder }) => {
    await using own = await startOwnFunction({ environment: { ARTIFACTS_QUOTA_BYTES: "10" } });
    const first = await registerBytes(own, planner, 6);
    assert.equal(first.status, 200);
    assertError(await registerBytes(own, planner, 5), 409, "quota_exceeded");
    assert.equal(
      (await registerBytes(own, builder, 10)).status,
      200,
      "another agent has its own quota",
    );
    assert.equal((await registerBytes(own, planner, 4)).status, 200, "up to the last byte");
    assert.equal((await registerBytes(own, planner, 0)).status, 200, "0 bytes always fit");

    assert.equal((await deleteArtifact(planner, first.body)).status, 200);
    const second = await registerBytes(own, planner, 6);
    assert.equal(second.status, 200, "a deletion makes room");

    assert.equal(await upload(second.body.upload_url, "second"), 200);
    const request = { owner: planner, artifact: second.body, digest: sha256("second") };
    assert.equal((await commitBy(own, request)).status, 200);
    assertError(await registerBytes(own, planner, 1), 409, "quota_exceeded");
    await withStackDatabase((sql) =>
      sql`update artifacts.artifacts set expires_at = now()
        where artifact_id = ${second.body.artifact_id}`
    );
    assert.equal((await registerBytes(own, planner, 6)).status, 200, "an expiry makes room");
  },
);

artifactTest(
  "/register of more pending artifacts than allowed → 409, no row, until one is deleted",
  async ({ planner }) => {
    await using own = await startOwnFunction({ environment: { ARTIFACTS_MAX_PENDING: "2" } });
    const [first] = await Promise.all([
      registerBytes(own, planner, 1),
      registerBytes(own, planner, 1),
    ]);
    const refused = await registerBytes(own, planner, 1);
    assert.deepEqual(assertError(refused, 409, "limit_exceeded"), {
      limit: "pending_artifacts",
      maximum: 2,
    });
    assert.equal(await countArtifacts(planner), 2);
    assert.equal((await deleteArtifact(planner, first.body)).status, 200);
    assert.equal((await registerBytes(own, planner, 1)).status, 200);
  },
);

artifactTest(
  "/register by an agent that holds as many artifacts as allowed → 409, no row, until one ends",
  async ({ planner, builder }) => {
    await using own = await startOwnFunction({ environment: { ARTIFACTS_MAX_ARTIFACTS: "2" } });
    const superseded = await publish(planner, { key: "k", content: "one" });
    assert.equal((await registerBytes(own, planner, 1)).status, 200, "one more");
    const current = await publish(planner, { key: "k", content: "two" });
    const rows = await countArtifacts(planner);
    const refused = await registerBytes(own, planner, 1);
    assert.deepEqual(assertError(refused, 409, "limit_exceeded"), {
      limit: "artifacts",
      maximum: 2,
    });
    assert.equal("upload_url" in refused.body, false);
    assert.equal(await countArtifacts(planner), rows);
    assert.equal((await registerBytes(own, builder, 1)).status, 200, "another agent");

    await deleteArtifact(planner, superseded);
    assert.equal((await registerBytes(own, planner, 1)).status, 200, "a deletion makes room");
    await publish(planner, { key: "another" });
    assertError(await registerBytes(own, planner, 1), 409, "limit_exceeded");
    await withStackDatabase((sql) =>
      sql`update artifacts.artifacts set expires_at = now()
        where artifact_id = ${current.artifact_id}`
    );
    assert.equal((await registerBytes(own, planner, 1)).status, 200, "an expiry makes room");
  },
);

artifactTest(
  "/grant of an artifact more often than allowed → 409, no grant, until one is revoked",
  async ({ planner, builder }) => {
    await using own = await startOwnFunction({ environment: { ARTIFACTS_MAX_GRANTS: "2" } });
    const artifact = await publish(planner);
    const body = {
      artifact_id: artifact.artifact_id,
      to_agent: builder.id,
      expires_at: secondsFromNow(60),
    };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => own.post<Grant>("/grant", { as: planner, body })),
    );
    const given = answers.filter(({ status }) => status === 200);
    assert.equal(given.length, 2);
    for (const answer of answers) {
      if (answer.status === 200) continue;
      assert.deepEqual(assertError(answer, 409, "limit_exceeded"), {
        limit: "live_grants",
        maximum: 2,
      });
    }
    assert.equal((await inbox(builder)).length, 2);
    await own.post("/revoke", { as: planner, body: { grant_id: given[0]!.body.grant_id } });
    assert.equal((await own.post("/grant", { as: planner, body })).status, 200);
  },
);

artifactTest(
  "/commit and /list by an agent beyond its limits → 200: limits refuse only what is new",
  async ({ planner, builder }) => {
    const artifact = await registerAndUpload(planner);
    await using own = await startOwnFunction({
      environment: { ARTIFACTS_MAX_PENDING: "1", ARTIFACTS_QUOTA_BYTES: "1" },
    });
    assertError(await registerBytes(own, planner, 1), 409, "quota_exceeded");
    assert.equal((await commitBy(own, { owner: planner, artifact })).status, 200);
    assert.equal((await listed(planner)).length, 1);
    assert.equal((await registerBytes(own, builder, 1)).status, 200);
  },
);
