import assert from "node:assert/strict";
import { artifactTest, type Download, type Identified, publish } from "../conformance/artifacts.ts";
import { type Agent, assertInvalid } from "../conformance/client.ts";
import { countArtifacts } from "./limits/limits.ts";
import { type OwnFunction, startOwnFunction } from "./own_function.ts";

/** How many seconds a download URL from this function is valid. */
async function windowSeconds(
  own: OwnFunction,
  { owner, artifact: { artifact_id } }: { owner: Agent; artifact: Identified },
): Promise<number> {
  const answer = await own.post<Download>("/open", { as: owner, body: { artifact_id } });
  assert.equal(answer.status, 200);
  return (Date.parse(answer.body.expires_at) - Date.now()) / 1000;
}

artifactTest(
  "no settings but the platform's → 50 MiB, 365 days, download URLs of 60 seconds",
  async ({ planner }) => {
    await using own = await startOwnFunction();
    const registration = { agent_id: planner.id, key: "k", mime: "text/plain" };
    const register = (size: number, ttl_days: number) =>
      own.post("/register", { as: planner, body: { ...registration, size, ttl_days } });
    assert.equal((await register(52_428_800, 365)).status, 200);
    assertInvalid(await register(52_428_801, 365), "size");
    assertInvalid(await register(52_428_800, 366), "ttl_days");

    assert.equal(await countArtifacts(planner), 1, "a refused registration leaves no row");

    const seconds = await windowSeconds(own, { owner: planner, artifact: await publish(planner) });
    assert.ok(seconds > 30 && seconds <= 61, String(seconds));
  },
);

artifactTest("ARTIFACTS_FETCH_URL_SECONDS=5 → download URLs of 5 seconds", async ({ planner }) => {
  await using own = await startOwnFunction({ environment: { ARTIFACTS_FETCH_URL_SECONDS: "5" } });
  const seconds = await windowSeconds(own, { owner: planner, artifact: await publish(planner) });
  assert.ok(seconds > 0 && seconds <= 6, String(seconds));
});
