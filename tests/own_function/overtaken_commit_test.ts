import assert from "node:assert/strict";
import {
  artifactTest,
  commit,
  deleteArtifact,
  download,
  listed,
  open,
  registerAndUpload,
  sha256,
} from "../conformance/artifacts.ts";
import { assertError, SUPABASE_URL } from "../conformance/client.ts";
import { commitBy, endLease } from "./commits.ts";
import { startOwnFunction } from "./own_function.ts";
import { gate, holding, startProxy } from "./proxy.ts";

const VERDICT = "/rpc/finish_commit";

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
    // With its wrong digest it would, under its lease, reject the object and remove it.
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
