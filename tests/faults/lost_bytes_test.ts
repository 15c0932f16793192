import assert from "node:assert/strict";
import {
  artifactTest,
  grant,
  leavesUnchanged,
  open,
  publish,
  redeem,
} from "../conformance/artifacts.ts";
import { assertError, SECRET_KEY, SUPABASE_URL } from "../conformance/client.ts";

artifactTest(
  "/open and /fetch of an artifact whose bytes are gone from the bucket → 500, no retry-after",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const { token } = await grant(planner, artifact, { to: builder });
    const removed = await fetch(`${SUPABASE_URL}/storage/v1/object/agent-artifacts`, {
      method: "DELETE",
      headers: { apikey: SECRET_KEY, "content-type": "application/json" },
      body: JSON.stringify({ prefixes: [`sealed/${artifact.artifact_id}/1`] }),
    });
    assert.equal((await removed.json()).length, 1);
    await leavesUnchanged([planner, builder], async () => {
      for (const answer of [await open(planner, artifact), await redeem(token)]) {
        assertError(answer, 500, "internal");
        assert.equal(answer.headers.has("retry-after"), false);
      }
    });
  },
);
