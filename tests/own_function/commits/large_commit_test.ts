import assert from "node:assert/strict";
import {
  artifactTest,
  download,
  listed,
  open,
  sha256,
  upload,
} from "../../conformance/artifacts.ts";
import { assertError, SUPABASE_URL } from "../../conformance/client.ts";
import {
  age,
  BYTES_PER_CALL,
  commitBy,
  FIVE_CALLS,
  LARGE_CONTENT,
  LARGE_DIGEST,
  replaceVerifiedObject,
  uploadLarge,
} from "./commits.ts";
import { startOwnFunction } from "../own_function.ts";
import { startProxy } from "../proxy.ts";

artifactTest(
  "/commit of more bytes than one call verifies → 202 with verified_bytes, at last 200",
  async ({ planner }) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({ supabaseUrl: proxy.url, environment: FIVE_CALLS });
    const artifact = await uploadLarge(planner);
    const { upload: _upload, upload_url: _url, upload_expires_at: _expiry, ...pending } = artifact;
    const request = { owner: planner, artifact, digest: LARGE_DIGEST };
    for (const call of [1, 2, 3, 4]) {
      const { status, headers, body } = await commitBy(own, request);
      assert.equal(status, 202);
      assert.ok(Number(headers.get("retry-after")) >= 0);
      assert.equal(headers.get("x-request-id")?.length, 36);
      const verified_bytes = call * BYTES_PER_CALL;
      assert.deepEqual(body, { ...pending, state: "verifying", verified_bytes });
      assert.deepEqual(await listed(planner), []);
    }
    const done = await commitBy(own, request);
    assert.equal(done.status, 200);
    assert.equal(done.body.state, "committed");
    assert.equal(await download((await open(planner, artifact)).body.url), LARGE_CONTENT);
    const moves = proxy.passed.filter(({ path }) => path.endsWith("/object/move"));
    assert.equal(moves.length, 1, "a sealed object is not moved again");
  },
);

artifactTest(
  "/commit over several calls with a wrong digest → 422 at the end; the URL takes the right bytes",
  async ({ planner }) => {
    await using own = await startOwnFunction({ environment: FIVE_CALLS });
    const artifact = await uploadLarge(planner);
    const wrong = { owner: planner, artifact, digest: sha256("other") };
    let answer = await commitBy(own, wrong);
    while (answer.status === 202) answer = await commitBy(own, wrong);
    assert.deepEqual(assertError(answer, 422, "checksum_mismatch"), {
      expected: sha256("other"),
      actual: LARGE_DIGEST,
    });
    assert.deepEqual(await listed(planner), []);
    const right = { owner: planner, artifact, digest: LARGE_DIGEST };
    assertError(await commitBy(own, right), 409, "upload_missing");
    assert.equal(await upload(artifact.upload_url, LARGE_CONTENT), 200);
  },
);

artifactTest(
  "PUT of another object between two calls of /commit → that one is verified from its beginning",
  async ({ planner }) => {
    await using own = await startOwnFunction({ environment: FIVE_CALLS });
    const artifact = await uploadLarge(planner);
    const request = { owner: planner, artifact, digest: LARGE_DIGEST };
    for (const _ of [1, 2, 3]) assert.equal((await commitBy(own, request)).status, 202);

    // The forged file has the same size and the same end. Only the bytes that are already verified
    // differ.
    const forged = "x".repeat(BYTES_PER_CALL) + LARGE_CONTENT.slice(BYTES_PER_CALL);
    assert.equal(await upload(artifact.upload_url, forged), 200);
    let answer = await commitBy(own, request);
    assert.equal(answer.body.verified_bytes, BYTES_PER_CALL, "from the beginning");
    while (answer.status === 202) answer = await commitBy(own, request);
    assert.deepEqual(assertError(answer, 422, "checksum_mismatch"), {
      expected: LARGE_DIGEST,
      actual: sha256(forged),
    });
    assert.deepEqual(await listed(planner), []);
  },
);

artifactTest(
  "/commit after the verified object was replaced inside Storage → verified from its beginning",
  async ({ planner }) => {
    await using own = await startOwnFunction({ environment: FIVE_CALLS });
    const artifact = await uploadLarge(planner);
    const request = { owner: planner, artifact, digest: LARGE_DIGEST };
    for (const _ of [1, 2]) assert.equal((await commitBy(own, request)).status, 202);
    await replaceVerifiedObject(artifact);
    assert.equal((await commitBy(own, request)).body.verified_bytes, BYTES_PER_CALL);
  },
);

artifactTest(
  "/commit an hour after the call before → the verification goes on where it stopped",
  async ({ planner }) => {
    await using own = await startOwnFunction({ environment: FIVE_CALLS });
    const artifact = await uploadLarge(planner);
    const request = { owner: planner, artifact, digest: LARGE_DIGEST };
    assert.equal((await commitBy(own, request)).status, 202);
    await age(artifact, { artifactHours: 1, progressHours: 1 });
    assert.equal((await commitBy(own, request)).body.verified_bytes, 2 * BYTES_PER_CALL);
  },
);
