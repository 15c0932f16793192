import assert from "node:assert/strict";
import { artifactTest, type Download, publish } from "../../conformance/artifacts.ts";
import { startOwnFunction } from "../own_function.ts";

artifactTest(
  "/open with a window of 1 second, at any moment of a second → a URL that lasts at least one more",
  async ({ planner }) => {
    await using own = await startOwnFunction({ environment: { ARTIFACTS_FETCH_URL_SECONDS: "1" } });
    const { artifact_id } = await publish(planner);
    for (let tenth = 0; tenth < 10; tenth++) {
      const askedAt = Date.now();
      const { status, body } = await own.post<Download>("/open", {
        as: planner,
        body: { artifact_id },
      });
      assert.equal(status, 200);
      assert.ok(Date.parse(body.expires_at) >= askedAt + 1000, body.expires_at);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  },
);
