import assert from "node:assert/strict";
import { assertError, assertInvalid, succeed } from "../client.ts";
import {
  artifactTest,
  deleteArtifact,
  givenGrants,
  grant,
  inbox,
  leavesUnchanged,
  open,
  publish,
  redeem,
  register,
  revoke,
  secondsFromNow,
  tryGrant,
} from "../artifacts.ts";

const EVENTS = "/agent-artifacts/events";

artifactTest(
  "/grant → a grant and its token; the grantee's inbox shows the grant without the token",
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
  "/grant to a name that nobody has had → the same answer, which says so; to any other → it does not",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const expires_at = secondsFromNow(600);
    const nobody = { id: `nobody-${crypto.randomUUID()}` };
    const { grant_id, token, ...rest } = await grant(planner, artifact, { to: nobody, expires_at });
    assert.match(grant_id, /^grant_/);
    assert.match(token, /^g_/);
    assert.deepEqual(rest, {
      artifact_id: artifact.artifact_id,
      to_agent: nobody.id,
      expires_at,
      unknown_recipient: true,
    });
    const known = await grant(planner, artifact, { to: builder, expires_at });
    assert.equal(known.unknown_recipient, undefined);
    const anyone = await grant(planner, artifact, { expires_at });
    assert.equal(anyone.unknown_recipient, undefined);
  },
);

artifactTest(
  "/grant with known_only to a name that nobody has had → 422 to_agent, and nothing is granted; to any other → 200",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const nobody = { id: `nobody-${crypto.randomUUID()}` };
    const { latest } = await succeed<{ latest: string }>(EVENTS, { as: planner, body: {} });
    await leavesUnchanged([planner, builder], async () => {
      const terms = { to: nobody, known_only: true, note: "Build it.", idempotency_key: "k" };
      const refused = await tryGrant(planner, artifact, terms);
      assertInvalid(refused, "to_agent");
      assert.match(JSON.stringify(refused.body), /Nobody of this name has ever been here\./);
      assertInvalid(
        await tryGrant(planner, artifact, { to: builder, known_only: "yes" }),
        "known_only",
      );
    });
    assert.deepEqual((await givenGrants(planner)).grants, []);
    const since = { as: planner, body: { after: latest } };
    const { events } = await succeed<{ events: Record<string, unknown>[] }>(EVENTS, since);
    // Its commit may be told only now: events wait for transactions that began before them.
    const isItsCommit = ({ type, artifact_id }: Record<string, unknown>) =>
      type === "artifact.committed" && artifact_id === artifact.artifact_id;
    assert.deepEqual(events.filter((event) => !isItsCommit(event)), []);

    const given = [{ to: builder }, { to_tag: "tag:nobody-has-it" }, {}];
    for (const terms of given) await grant(planner, artifact, { ...terms, known_only: true });
    // The name is not known from the refusal.
    const made = await grant(planner, artifact, { to: nobody, known_only: false });
    assert.equal(made.unknown_recipient, true);
  },
);

artifactTest(
  "/grant twice of one artifact to one agent → two grants with a token each",
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
  "/grant of a pending artifact → 409, of a deleted one → 410, of none → 404; nothing is granted",
  async ({ planner, builder }) => {
    const ask = (artifact_id: string) => tryGrant(planner, { artifact_id }, { to: builder });
    const pending = await register(planner);
    assertError(await ask(pending.artifact_id), 409, "artifact_not_committed");
    const gone = await publish(planner);
    await deleteArtifact(planner, gone);
    assertError(await ask(gone.artifact_id), 410, "artifact_expired");
    assertError(await ask(`art_${"0".repeat(32)}`), 404, "artifact_not_found");
    assert.deepEqual(await inbox(builder), []);
  },
);

artifactTest(
  "/grant by anybody but the owner and the operator → 404 or 401, and nothing is granted",
  async ({ planner, builder, stranger }) => {
    const artifact = await publish(planner);
    await grant(planner, artifact, { to: builder });
    const terms = { to: stranger };
    for (const as of [stranger, builder]) {
      assertError(await tryGrant(as, artifact, terms), 404, "artifact_not_found");
    }
    assertError(await tryGrant("nobody", artifact, terms), 401, "unauthenticated");
    assert.deepEqual(await inbox(stranger), []);
    assert.equal((await tryGrant("operator", artifact, terms)).status, 200);
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

    // /revoke ignores expires_at: this one is in the past and matches neither grant.
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
  "/revoke by grant_id → that grant alone ends; again → revoked: 0",
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
  "/revoke with all that /grant returned → that grant ends; with another to_agent → 404, no change",
  async ({ planner, builder, stranger }) => {
    const artifact = await publish(planner);
    const first = await grant(planner, artifact, { to: builder });
    const second = await grant(planner, artifact, { to: builder });
    await leavesUnchanged([planner, builder, stranger], async () => {
      const unfitting = { ...first, to_agent: stranger.id };
      assertError(await revoke(planner, unfitting), 404, "grant_not_found");
    });
    assert.equal((await redeem(first.token)).status, 200);
    assert.deepEqual((await revoke(planner, first)).body, {
      revoked: 1,
      grant_ids: [first.grant_id],
    });
    assert.equal((await redeem(second.token)).status, 200);
  },
);

artifactTest(
  "/revoke with neither a grant nor both an artifact and an agent → 422, and nothing is revoked",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const { to_agent } = await grant(planner, artifact, { to: builder });
    await leavesUnchanged([planner, builder], async () => {
      assertInvalid(await revoke(planner, {}), "artifact_id", "to_agent");
      assertInvalid(await revoke(planner, { artifact_id: 1 }), "artifact_id", "to_agent");
      assertInvalid(await revoke(planner, { grant_id: 1 }), "grant_id");
      assertInvalid(await revoke(planner, { to_agent }), "artifact_id");
      for (const artifact_id of [artifact.artifact_id, "art_x"]) {
        assertInvalid(await revoke(planner, { artifact_id }), "to_agent");
        const soon = { artifact_id, to_agent, expires_at: "soon" };
        assertInvalid(await revoke(planner, soon), "expires_at");
      }
    });
  },
);

artifactTest(
  "/revoke by anybody but the owner and the operator → 404 or 401, and the grant still works",
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
  "/revoke for an agent that the artifact was never granted to → 200, revoked: 0",
  async ({ planner, stranger }) => {
    const artifact = await publish(planner);
    const answer = await revoke(planner, {
      artifact_id: artifact.artifact_id,
      to_agent: stranger.id,
    });
    assert.deepEqual(answer.body, { revoked: 0, grant_ids: [] });
  },
);

artifactTest("/grant after a revocation → access again", async ({ planner, builder }) => {
  const artifact = await publish(planner);
  const { grant_id } = await grant(planner, artifact, { to: builder });
  await revoke(planner, { grant_id });
  const { token } = await grant(planner, artifact, { to: builder });
  assert.equal((await redeem(token)).status, 200);
  assert.equal((await open(builder, artifact)).status, 200);
});
