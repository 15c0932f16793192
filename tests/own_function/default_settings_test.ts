import assert from "node:assert/strict";
import { type Access, artifactTest, publish } from "../conformance/artifacts.ts";
import { assertInvalid } from "../conformance/client.ts";
import { type OwnFunction, startOwnFunction } from "./own_function.ts";

/** Seconds that a download URL of this function lasts. */
async function windowOf(
  own: OwnFunction,
  request: Parameters<OwnFunction["post"]>[1],
): Promise<number> {
  const answer = await own.post<Access>("/open", request);
  assert.equal(answer.status, 200);
  return (Date.parse(answer.body.expires_at) - Date.now()) / 1000;
}

artifactTest(
  "no setting but the platform's → 50 MiB, 365 days, download URLs of 60 seconds",
  async ({ planner }) => {
    await using own = await startOwnFunction({});
    const registration = { agent_id: planner.id, key: "k", mime: "text/plain" };
    const register = (size: number, ttl_days: number) =>
      own.post("/register", { as: planner, body: { ...registration, size, ttl_days } });
    assert.equal((await register(52_428_800, 365)).status, 200);
    assertInvalid(await register(52_428_801, 365), "size");
    assertInvalid(await register(52_428_800, 366), "ttl_days");

    const { artifact_id } = await publish(planner);
    const seconds = await windowOf(own, { as: planner, body: { artifact_id } });
    assert.ok(seconds > 30 && seconds <= 61, String(seconds));
  },
);

artifactTest("ARTIFACTS_FETCH_URL_SECONDS=5 → download URLs of 5 seconds", async ({ planner }) => {
  await using own = await startOwnFunction({ environment: { ARTIFACTS_FETCH_URL_SECONDS: "5" } });
  const { artifact_id } = await publish(planner);
  const seconds = await windowOf(own, { as: planner, body: { artifact_id } });
  assert.ok(seconds > 0 && seconds <= 6, String(seconds));
});
