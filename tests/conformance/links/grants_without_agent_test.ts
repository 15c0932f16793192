import assert from "node:assert/strict";
import {
  artifactTest,
  deleteArtifact,
  givenGrants,
  grant,
  inbox,
  open,
  publish,
  redeem,
  register,
  revoke,
  secondsFromNow,
  tryGrant,
} from "../artifacts.ts";
import { assertError, assertInvalid, post } from "../client.ts";
import { UNTOUCHED } from "../tasks/tasks.ts";
import { eventsOf, known, nextEvents } from "../changes/feed.ts";
import { assertLeads, assertRefused, follow } from "./link.ts";

artifactTest(
  "/grant without to_agent → to_agent: null; the owner's /grants has it, nobody's inbox, and no key opens it",
  async ({ planner, builder, stranger }) => {
    const artifact = await publish(planner);
    const expires_at = secondsFromNow(600);
    const { grant_id, token, ...rest } = await grant(planner, artifact, { expires_at });
    assert.deepEqual(rest, { artifact_id: artifact.artifact_id, to_agent: null, expires_at });

    const [{ granted_at: _, ...entry } = assert.fail("no grant"), ...more] =
      (await givenGrants(planner)).grants;
    assert.deepEqual(more, []);
    assert.deepEqual(entry, {
      grant_id,
      artifact_id: artifact.artifact_id,
      key: artifact.key,
      to_agent: null,
      expires_at,
      max_downloads: null,
      downloads: 0,
      // It is no task: nobody has it in an inbox.
      ...UNTOUCHED,
      deliver: null,
      state: null,
      attempt: null,
    });
    for (const agent of [planner, builder, stranger]) assert.deepEqual(await inbox(agent), []);
    assertError(await open(builder, artifact), 404, "artifact_not_found");
    assert.equal((await redeem(token)).status, 200);
    assertLeads(await follow(token));
    const { artifact_id } = artifact;
    assert.equal((await givenGrants(planner, { artifact_id })).grants.length, 1);
    assert.deepEqual((await givenGrants(planner, { to_agent: builder.id })).grants, []);
  },
);

artifactTest(
  "/grant without to_agent by somebody else, by nobody, of a pending artifact, with to_agent: null → refused, nothing is granted",
  async ({ planner, stranger }) => {
    const artifact = await publish(planner);
    const pending = await register(planner, { key: "pending" });
    assertError(await tryGrant(stranger, artifact, {}), 404, "artifact_not_found");
    assertError(await tryGrant("nobody", artifact, {}), 401, "unauthenticated");
    assertError(await tryGrant(planner, pending, {}), 409, "artifact_not_committed");
    assertInvalid(await tryGrant(planner, artifact, { expires_at: "soon" }), "expires_at");
    const { artifact_id } = artifact;
    const body = { artifact_id, to_agent: null, expires_at: secondsFromNow(60) };
    // If a program has lost the agent's name and sends null, the file must not become public.
    const lost = await post("/agent-artifacts/grant", { as: planner, body });
    assertInvalid(lost, "to_agent");
    assert.deepEqual((await givenGrants(planner)).grants, []);
    assert.equal((await tryGrant("operator", artifact, {})).status, 200);
    assert.equal((await givenGrants(planner)).grants.length, 1);
  },
);

artifactTest(
  "/revoke of a grant for anyone with the token → by grant_id or all that /grant answered; nothing else ends it",
  async ({ planner, builder, stranger }) => {
    const artifact = await publish(planner);
    const { artifact_id } = artifact;
    const [one, other, toBuilder] = [
      await grant(planner, artifact, {}),
      await grant(planner, artifact, {}),
      await grant(planner, artifact, { to: builder }),
    ];
    for (const body of [{ artifact_id }, { artifact_id, to_agent: null }]) {
      assertInvalid(await revoke(planner, body), "to_agent");
    }
    const { body: ended } = await revoke(planner, { artifact_id, to_agent: builder.id });
    assert.deepEqual(ended, { revoked: 1, grant_ids: [toBuilder.grant_id] });
    const unfitting = { grant_id: one.grant_id, to_agent: builder.id };
    assertError(await revoke(planner, unfitting), 404, "grant_not_found");
    assertError(await revoke(stranger, { grant_id: one.grant_id }), 404, "grant_not_found");
    assertLeads(await follow(one.token));

    for (const body of [{ grant_id: one.grant_id }, other]) {
      assert.equal((await revoke(planner, body)).body["revoked"], 1);
      assert.equal((await revoke(planner, body)).body["revoked"], 0);
    }
    for (const { token } of [one, other]) {
      assertRefused(await follow(token), 410, "grant_revoked");
      assertError(await redeem(token), 410, "grant_revoked");
    }
    assert.deepEqual((await givenGrants(planner)).grants, []);
  },
);

artifactTest(
  "/delete of an artifact with links → they end with it",
  async ({ planner }) => {
    const artifact = await publish(planner);
    const { token } = await grant(planner, artifact, {});
    await deleteArtifact(planner, artifact);
    assertRefused(await follow(token), 410, "artifact_expired");
    assert.deepEqual((await givenGrants(planner)).grants, []);
  },
);

artifactTest(
  "/events of the owner of a link → that it was made, for how many downloads, followed by a token, and revoked",
  async ({ planner }) => {
    const artifact = await publish(planner);
    const { latest } = await eventsOf("agent-artifacts", planner);
    const { grant_id, token, expires_at } = await grant(planner, artifact, { max_downloads: 5 });
    assertLeads(await follow(token));
    await revoke(planner, { grant_id });

    const { events } = await nextEvents("agent-artifacts", planner, { after: latest, count: 3 });
    const { artifact_id, key } = artifact;
    const ofGrant = { agent_id: null, grant_id, artifact_id };
    const byPlanner = { actor_kind: "agent", actor: planner.id, from_agent: planner.id };
    assert.deepEqual(known(events), [
      { type: "grant.created", ...byPlanner, ...ofGrant, key, expires_at, max_downloads: 5 },
      {
        type: "artifact.fetched",
        actor_kind: "grant_token",
        actor: null,
        ...ofGrant,
        key,
        reads: 1,
      },
      { type: "grant.revoked", ...byPlanner, ...ofGrant, key },
    ]);
    assert.equal(JSON.stringify(events).includes(token), false);
  },
);
