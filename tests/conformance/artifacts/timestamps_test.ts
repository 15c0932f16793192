import assert from "node:assert/strict";
import { type Answer, assertInvalid, post } from "../client.ts";
import {
  artifactTest,
  type Cast,
  grant,
  inbox,
  listed,
  publish,
  secondsFromNow,
} from "../artifacts.ts";

/** Grants the planner's only artifact until `expires_at`, which may be undefined. */
async function grantUntil({ planner, builder }: Cast, expires_at: unknown): Promise<Answer> {
  const [artifact] = await listed(planner);
  return await post("/agent-artifacts/grant", {
    as: planner,
    body: { artifact_id: artifact?.artifact_id, to_agent: builder.id, expires_at },
  });
}

artifactTest("/grant until a time in UTC, with 0 to 9 digits of a fraction → 200", async (cast) => {
  await publish(cast.planner);
  const written: Record<string, string> = {
    "2999-12-31T23:59:59Z": "2999-12-31T23:59:59.000Z",
    "2999-12-31T23:59:59+00:00": "2999-12-31T23:59:59.000Z",
    "2999-12-31T23:59:59.1Z": "2999-12-31T23:59:59.100Z",
    "2999-12-31T23:59:59.123456789Z": "2999-12-31T23:59:59.123Z",
    "9999-12-31T23:59:59.999999999Z": "9999-12-31T23:59:59.999Z",
    "2996-02-29T00:00:00.000+00:00": "2996-02-29T00:00:00.000Z",
  };
  for (const [given, kept] of Object.entries(written)) {
    const answer = await grantUntil(cast, given);
    assert.equal(answer.status, 200, given);
    assert.equal(answer.body["expires_at"], kept);
  }
});

artifactTest(
  "/grant until a time of another form, or one that has passed → 422, and nothing is granted",
  async (cast) => {
    const artifact = await publish(cast.planner);
    const bad = [
      "",
      "tomorrow",
      "2999-12-31",
      "2999-12-31T23:59:59",
      "2999-12-31T23:59:59+01:00",
      "2999-12-31T23:59:59-00:00",
      "2999-12-31T23:59:59z",
      "2999-12-31 23:59:59Z",
      "2999-12-31T23:59Z",
      "2999-12-31T23:59:59.Z",
      "2999-12-31T23:59:59.1234567890Z",
      "2999-12-31T24:00:00Z",
      "2999-12-31T23:59:60Z",
      "2999-02-29T00:00:00Z",
      "2999-13-01T00:00:00Z",
      "12999-01-01T00:00:00Z",
      "+002999-01-01T00:00:00Z",
      "0000-01-01T00:00:00Z",
      "0001-01-01T00:00:00Z",
      secondsFromNow(-1),
      32503680000,
      null,
      undefined,
    ];
    for (const expires_at of bad) assertInvalid(await grantUntil(cast, expires_at), "expires_at");
    assert.deepEqual(await inbox(cast.builder), []);
    await grant(cast.planner, artifact, { to: cast.builder });
    assert.equal((await inbox(cast.builder)).length, 1);
  },
);
