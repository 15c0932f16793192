import assert from "node:assert/strict";
import { type Agent, type Answer, assertError, assertInvalid, post } from "../client.ts";
import {
  artifactTest,
  grant,
  inbox,
  open,
  publish,
  redeem,
  register,
  secondsFromNow,
} from "../artifacts.ts";

function revoke(as: Agent | "operator" | "nobody", body: object): Promise<Answer> {
  return post("/agent-artifacts/revoke", { as, body });
}

artifactTest(
  "/grant → a grant with its token, shown in the grantee's inbox without it",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const expires_at = secondsFromNow(600);
    const given = await grant(planner, artifact, { to: builder, expires_at });
    const { grant_id, token, ...rest } = given;
    assert.match(grant_id, /^grant_/);
    assert.match(token, /^g_/);
    assert.deepEqual(rest, { artifact_id: artifact.artifact_id, to_agent: builder.id, expires_at });

    const entries = await inbox(builder);
    assert.equal(entries.length, 1);
    assert.equal(entries[0]!.grant_id, grant_id);
    assert.equal(JSON.stringify(entries).includes(token), false);
  },
);

artifactTest(
  "two grants of one artifact to one agent are two tokens",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const first = await grant(planner, artifact, { to: builder });
    const second = await grant(planner, artifact, { to: builder });
    assert.notEqual(first.token, second.token);
    assert.notEqual(first.grant_id, second.grant_id);
    assert.equal((await redeem(first.token)).status, 200);
    assert.equal((await redeem(second.token)).status, 200);
  },
);

artifactTest(
  "/grant of a pending artifact → 409; of a deleted one → 410; of none → 404",
  async ({ planner, builder }) => {
    const ask = (artifact_id: string) =>
      post("/agent-artifacts/grant", {
        as: planner,
        body: { artifact_id, to_agent: builder.id, expires_at: secondsFromNow(60) },
      });
    const pending = await register(planner);
    assertError(await ask(pending.artifact_id), 409, "artifact_not_committed");
    const gone = await publish(planner);
    await post("/agent-artifacts/delete", { as: planner, body: { artifact_id: gone.artifact_id } });
    assertError(await ask(gone.artifact_id), 410, "artifact_expired");
    assertError(await ask(`art_${"0".repeat(32)}`), 404, "artifact_not_found");
    assert.deepEqual(await inbox(builder), []);
  },
);

artifactTest(
  "/grant by anybody but the owner and the operator → 404, and nothing is granted",
  async ({ planner, builder, stranger }) => {
    const artifact = await publish(planner);
    await grant(planner, artifact, { to: builder });
    const body = {
      artifact_id: artifact.artifact_id,
      to_agent: stranger.id,
      expires_at: secondsFromNow(60),
    };
    for (const as of [stranger, builder]) {
      assertError(await post("/agent-artifacts/grant", { as, body }), 404, "artifact_not_found");
    }
    assertError(
      await post("/agent-artifacts/grant", { as: "nobody", body }),
      401,
      "unauthenticated",
    );
    assert.deepEqual(await inbox(stranger), []);
    assert.equal((await post("/agent-artifacts/grant", { as: "operator", body })).status, 200);
    assert.equal((await inbox(stranger)).length, 1);
  },
);

artifactTest(
  "/revoke with the request of /grant → every live grant of that artifact to that agent ends",
  async ({ planner, builder, stranger }) => {
    const artifact = await publish(planner);
    const other = await publish(planner, { key: "other" });
    const first = await grant(planner, artifact, { to: builder, expires_at: secondsFromNow(60) });
    const second = await grant(planner, artifact, { to: builder, expires_at: secondsFromNow(90) });
    const toStranger = await grant(planner, artifact, { to: stranger });
    const ofOther = await grant(planner, other, { to: builder });

    // The expiry of neither, and in the past: it does not narrow.
    const request = {
      artifact_id: artifact.artifact_id,
      to_agent: builder.id,
      expires_at: "2020-01-01T00:00:00Z",
    };
    const revoked = await revoke(planner, request);
    assert.equal(revoked.status, 200);
    assert.equal(revoked.body["revoked"], 2);
    assert.deepEqual(
      (revoked.body["grant_ids"] as string[]).sort(),
      [first.grant_id, second.grant_id].sort(),
    );
    for (const { token } of [first, second]) {
      assertError(await redeem(token), 410, "grant_revoked");
    }
    assertError(await open(builder, artifact), 404, "artifact_not_found");
    assert.equal((await redeem(toStranger.token)).status, 200);
    assert.equal((await redeem(ofOther.token)).status, 200);
    assert.deepEqual((await inbox(builder)).map((entry) => entry.grant_id), [ofOther.grant_id]);

    assert.deepEqual((await revoke(planner, request)).body, { revoked: 0, grant_ids: [] });
  },
);

artifactTest(
  "/revoke by grant_id → that grant alone; again → revoked: 0",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const first = await grant(planner, artifact, { to: builder });
    const second = await grant(planner, artifact, { to: builder });
    const answer = await revoke(planner, { grant_id: first.grant_id });
    assert.deepEqual(answer.body, { revoked: 1, grant_ids: [first.grant_id] });
    assertError(await redeem(first.token), 410, "grant_revoked");
    assert.equal((await redeem(second.token)).status, 200);
    assert.equal((await open(builder, artifact)).status, 200);
    const again = await revoke(planner, { grant_id: first.grant_id });
    assert.deepEqual(again.body, { revoked: 0, grant_ids: [] });
  },
);

artifactTest(
  "/revoke with all that /grant returned → that grant alone; with parts that do not fit → 404",
  async ({ planner, builder, stranger }) => {
    const artifact = await publish(planner);
    const first = await grant(planner, artifact, { to: builder });
    const second = await grant(planner, artifact, { to: builder });
    const unfitting = { ...first, to_agent: stranger.id };
    assertError(await revoke(planner, unfitting), 404, "grant_not_found");
    assert.equal((await redeem(first.token)).status, 200);
    assert.deepEqual((await revoke(planner, first)).body, {
      revoked: 1,
      grant_ids: [first.grant_id],
    });
    assert.equal((await redeem(second.token)).status, 200);
  },
);

artifactTest(
  "/revoke with neither a grant nor an artifact and agent → 422",
  async ({ planner }) => {
    assertInvalid(await revoke(planner, {}), "artifact_id", "to_agent");
    assertInvalid(await revoke(planner, { artifact_id: "art_x" }), "to_agent");
    assertInvalid(await revoke(planner, { artifact_id: 1 }), "artifact_id", "to_agent");
    assertInvalid(await revoke(planner, { grant_id: 1 }), "grant_id");
    assertInvalid(await revoke(planner, { to_agent: "a" }), "artifact_id");
    assertInvalid(
      await revoke(planner, { artifact_id: "art_x", to_agent: "a", expires_at: "soon" }),
      "expires_at",
    );
  },
);

artifactTest(
  "/revoke by anybody but the owner and the operator → 404, and the grant goes on",
  async ({ planner, builder, stranger }) => {
    const artifact = await publish(planner);
    const { grant_id, token } = await grant(planner, artifact, { to: builder });
    const byArtifact = { artifact_id: artifact.artifact_id, to_agent: builder.id };
    for (const as of [stranger, builder]) {
      assertError(await revoke(as, { grant_id }), 404, "grant_not_found");
      assertError(await revoke(as, byArtifact), 404, "artifact_not_found");
    }
    assertError(await revoke("nobody", { grant_id }), 401, "unauthenticated");
    assert.equal((await redeem(token)).status, 200);
    assert.deepEqual((await revoke("operator", byArtifact)).body, {
      revoked: 1,
      grant_ids: [grant_id],
    });
    assertError(await redeem(token), 410, "grant_revoked");
  },
);

artifactTest(
  "/revoke of an artifact's grant to an agent that has none → 200, revoked: 0",
  async ({ planner, stranger }) => {
    const artifact = await publish(planner);
    const answer = await revoke(planner, {
      artifact_id: artifact.artifact_id,
      to_agent: stranger.id,
    });
    assert.deepEqual(answer.body, { revoked: 0, grant_ids: [] });
  },
);

artifactTest("after a revocation a new grant gives access anew", async ({ planner, builder }) => {
  const artifact = await publish(planner);
  const { grant_id } = await grant(planner, artifact, { to: builder });
  await revoke(planner, { grant_id });
  const { token } = await grant(planner, artifact, { to: builder });
  assert.equal((await redeem(token)).status, 200);
  assert.equal((await open(builder, artifact)).status, 200);
});
