import assert from "node:assert/strict";
import {
  artifactTest,
  deleteArtifact,
  givenGrants,
  grant,
  open,
  publish,
  redeem,
  revoke,
  secondsFromNow,
} from "../artifacts.ts";
import { type Agent, assertError, createAgent, operatorRpc } from "../client.ts";
import { inboxIds, newTag, openByKey, setTags } from "./tagged.ts";

async function assertNoAccess(
  agent: Agent,
  artifact: { artifact_id: string; key: string; agent_id: string },
) {
  assertError(await open(agent, artifact), 404, "artifact_not_found");
  assertError(await openByKey(agent, artifact), 404, "artifact_not_found");
  assert.deepEqual(await inboxIds(agent), []);
}

artifactTest(
  "/grant with to_tag → every agent that has the tag opens it by id and by name, and nobody else",
  async ({ planner, builder, stranger }) => {
    const tag = newTag();
    const second = await createAgent("second-builder");
    await Promise.all([setTags(builder, tag, newTag()), setTags(second, tag)]);
    const artifact = await publish(planner);
    const expires_at = secondsFromNow(600);
    const { grant_id, token, ...rest } = await grant(planner, artifact, {
      to_tag: tag,
      expires_at,
    });
    assert.deepEqual(rest, {
      artifact_id: artifact.artifact_id,
      to_agent: null,
      to_tag: tag,
      expires_at,
    });
    for (const agent of [builder, second]) {
      assert.deepEqual(await inboxIds(agent), [grant_id]);
      assert.equal((await open(agent, artifact)).status, 200);
      assert.equal((await openByKey(agent, artifact)).status, 200);
    }
    await assertNoAccess(stranger, artifact);
    assert.equal((await redeem(token)).status, 200, "the token is for whoever holds it");
    await operatorRpc("remove_agent", { agent_id: second.id });
  },
);

artifactTest(
  "an agent that gets the tag later → has access from then on; that loses it → with its next request none",
  async ({ planner, builder }) => {
    const tag = newTag();
    const artifact = await publish(planner);
    const { grant_id, token } = await grant(planner, artifact, { to_tag: tag });
    await assertNoAccess(builder, artifact);
    await setTags(builder, tag);
    assert.deepEqual(await inboxIds(builder), [grant_id]);
    assert.equal((await open(builder, artifact)).status, 200);
    await setTags(builder, newTag());
    await assertNoAccess(builder, artifact);
    assert.equal((await redeem(token)).status, 200, "the token is nobody's");
    await setTags(builder, tag);
    assert.equal((await openByKey(builder, artifact)).status, 200);
    await operatorRpc("remove_agent", { agent_id: builder.id });
    const { body } = await operatorRpc<{ key: string }>("create_agent_key", {
      agent_id: builder.id,
    });
    await assertNoAccess({ ...builder, key: body.key }, artifact);
  },
);

artifactTest(
  "/grant to a tag and to an agent of the same name → each reaches its own, and two entries where both",
  async ({ planner, builder, stranger }) => {
    const tag = newTag();
    const namesake = { ...await createAgent(tag) };
    const key = await operatorRpc<{ key: string }>("create_agent_key", { agent_id: tag });
    const agent = { ...namesake, id: tag, key: key.body.key };
    await setTags(builder, tag);
    const toTag = await publish(planner, { key: "to the tag" });
    const toAgent = await publish(planner, { key: "to the agent" });
    const one = await grant(planner, toTag, { to_tag: tag });
    const other = await grant(planner, toAgent, { to: agent });
    assert.deepEqual(await inboxIds(builder), [one.grant_id]);
    assert.deepEqual(await inboxIds(agent), [other.grant_id]);
    assertError(await open(builder, toAgent), 404, "artifact_not_found");
    assertError(await open(agent, toTag), 404, "artifact_not_found");

    const direct = await grant(planner, toTag, { to: builder });
    assert.deepEqual(await inboxIds(builder), [direct.grant_id, one.grant_id]);
    await revoke(planner, { grant_id: one.grant_id });
    assert.equal((await open(builder, toTag)).status, 200);
    assert.deepEqual(await inboxIds(stranger), []);
    await operatorRpc("remove_agent", { agent_id: tag });
    await operatorRpc("remove_agent", { agent_id: namesake.id });
  },
);

artifactTest(
  "/revoke with to_tag → every live grant of that artifact to that tag ends, and no other; again → none",
  async ({ planner, builder, stranger }) => {
    const [tag, otherTag] = [newTag(), newTag()];
    await setTags(builder, tag, otherTag);
    const artifact = await publish(planner);
    const other = await publish(planner, { key: "other" });
    const first = await grant(planner, artifact, { to_tag: tag });
    const second = await grant(planner, artifact, { to_tag: tag, expires_at: secondsFromNow(60) });
    const kept = [
      await grant(planner, artifact, { to_tag: otherTag }),
      await grant(planner, artifact, { to: builder }),
      await grant(planner, other, { to_tag: tag }),
    ];
    const request = { artifact_id: artifact.artifact_id, to_agent: null, to_tag: tag };
    assertError(await revoke(stranger, request), 404, "artifact_not_found");
    assertError(await revoke(builder, request), 404, "artifact_not_found");
    assert.equal((await inboxIds(builder)).length, 5, "a refusal ends nothing");

    const { body } = await revoke(planner, { ...request, expires_at: "2020-01-01T00:00:00Z" });
    assert.equal(body["revoked"], 2);
    assert.deepEqual(
      (body["grant_ids"] as string[]).sort(),
      [first.grant_id, second.grant_id].sort(),
    );
    for (const { token } of [first, second]) assertError(await redeem(token), 410, "grant_revoked");
    assert.deepEqual((await inboxIds(builder)).sort(), kept.map(({ grant_id }) => grant_id).sort());
    assert.deepEqual((await revoke(planner, request)).body, { revoked: 0, grant_ids: [] });
  },
);

artifactTest(
  "/revoke with grant_id → that grant ends; with another tag beside it → 404, and it stays",
  async ({ planner, builder }) => {
    const tag = newTag();
    await setTags(builder, tag);
    const artifact = await publish(planner);
    const given = await grant(planner, artifact, { to_tag: tag });
    assertError(await revoke(planner, { ...given, to_tag: newTag() }), 404, "grant_not_found");
    const asAgent = { grant_id: given.grant_id, to_agent: tag };
    assertError(await revoke(planner, asAgent), 404, "grant_not_found");
    assert.equal((await open(builder, artifact)).status, 200);
    // /revoke accepts the complete answer of /grant.
    assert.deepEqual((await revoke(planner, given)).body, {
      revoked: 1,
      grant_ids: [given.grant_id],
    });
    assertError(await open(builder, artifact), 404, "artifact_not_found");
    assert.deepEqual(await inboxIds(builder), []);
  },
);

artifactTest(
  "/grants → grants to tags with to_tag, others without; to_tag lists those to the tag alone",
  async ({ planner, builder, stranger }) => {
    const tag = newTag();
    const artifact = await publish(planner);
    const byTag = await grant(planner, artifact, { to_tag: tag, max_downloads: 9 });
    const direct = await grant(planner, artifact, { to: builder, expires_at: secondsFromNow(900) });
    const { grants } = await givenGrants(planner);
    assert.deepEqual(
      grants.map(({ grant_id, to_agent, max_downloads }) => [grant_id, to_agent, max_downloads]),
      [[byTag.grant_id, null, 9], [direct.grant_id, builder.id, null]],
    );
    assert.deepEqual([grants[0]!.to_tag, "to_tag" in grants[1]!], [tag, false]);
    const idsWith = async (body: object, agent = planner) =>
      (await givenGrants(agent, body)).grants.map(({ grant_id }) => grant_id);
    const { artifact_id } = artifact;
    assert.deepEqual(await idsWith({ to_tag: tag }), [byTag.grant_id]);
    assert.deepEqual(await idsWith({ to_tag: tag, artifact_id }), [byTag.grant_id]);
    assert.deepEqual(await idsWith({ to_tag: newTag() }), []);
    assert.deepEqual(await idsWith({ to_agent: tag }), []);
    assert.deepEqual(await idsWith({ to_tag: tag }, stranger), []);
  },
);

artifactTest(
  "max_downloads of a grant to a tag → counted together for all of its agents and the token, then 410",
  async ({ planner, builder, stranger }) => {
    const tag = newTag();
    await Promise.all([setTags(builder, tag), setTags(stranger, tag), setTags(planner, tag)]);
    const artifact = await publish(planner);
    const { token } = await grant(planner, artifact, { to_tag: tag, max_downloads: 3 });
    assert.equal((await open(planner, artifact)).status, 200, "the owner is not counted");
    assert.equal((await open(builder, artifact)).status, 200);
    assert.equal((await open(stranger, artifact)).status, 200);
    assert.equal((await redeem(token)).status, 200);
    for (const agent of [builder, stranger]) {
      assertError(await open(agent, artifact), 410, "grant_used_up");
      assert.deepEqual(await inboxIds(agent), []);
    }
    assertError(await redeem(token), 410, "grant_used_up");
    const [given] = (await givenGrants(planner)).grants;
    assert.deepEqual([given!.downloads, given!.max_downloads], [3, 3]);
  },
);

artifactTest(
  "the artifact is deleted, or its owner removed → the grant to the tag ends with it",
  async ({ planner, builder, stranger }) => {
    const tag = newTag();
    await setTags(builder, tag);
    const deleted = await publish(planner);
    await grant(planner, deleted, { to_tag: tag });
    const kept = await publish(stranger);
    await grant(stranger, kept, { to_tag: tag });
    await deleteArtifact(planner, deleted);
    assertError(await open(builder, deleted), 404, "artifact_not_found");
    assert.equal((await open(builder, kept)).status, 200);
    await operatorRpc("remove_agent", { agent_id: stranger.id, keep_artifacts: true });
    assertError(await open(builder, kept), 404, "artifact_not_found");
    assert.deepEqual(await inboxIds(builder), []);
  },
);
