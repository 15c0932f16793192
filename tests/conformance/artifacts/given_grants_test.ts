import assert from "node:assert/strict";
import {
  artifactTest,
  deleteArtifact,
  givenGrants,
  type GivenGrantsPage,
  grant,
  publish,
  revoke,
  secondsFromNow,
} from "../artifacts.ts";
import { assertError, assertInvalid, post, type Sender, succeed } from "../client.ts";
import { UNTOUCHED } from "../tasks/tasks.ts";

function idsIn({ grants }: GivenGrantsPage): string[] {
  return grants.map(({ grant_id }) => grant_id);
}

artifactTest(
  "/grants → each live grant that the agent gave, those that end first; none that has ended",
  async ({ planner, builder, stranger }) => {
    const one = await publish(planner, { key: "one" });
    const two = await publish(planner, { key: "two" });
    const gone = await publish(planner, { key: "gone" });
    const late = await grant(planner, one, { to: builder, expires_at: secondsFromNow(900) });
    const soon = await grant(planner, two, { to: stranger, expires_at: secondsFromNow(300) });
    const revoked = await grant(planner, one, { to: builder });
    await revoke(planner, { grant_id: revoked.grant_id });
    await grant(planner, gone, { to: builder });
    await deleteArtifact(planner, gone);
    await grant(stranger, await publish(stranger), { to: builder });

    const page = await givenGrants(planner);
    assert.deepEqual(
      page.grants.map(({ granted_at: _, ...entry }) => entry),
      [[soon, two], [late, one]].map(([given, artifact]) => ({
        grant_id: (given as typeof soon).grant_id,
        artifact_id: (artifact as typeof one).artifact_id,
        key: (artifact as typeof one).key,
        to_agent: (given as typeof soon).to_agent,
        expires_at: (given as typeof soon).expires_at,
        max_downloads: null,
        downloads: 0,
        ...UNTOUCHED,
      })),
    );
    assert.equal(page.next_cursor, null);
    assert.deepEqual(idsIn(await givenGrants(planner, { artifact_id: one.artifact_id })), [
      late.grant_id,
    ]);
    assert.deepEqual(idsIn(await givenGrants(planner, { to_agent: stranger.id })), [soon.grant_id]);
    const both = { artifact_id: one.artifact_id, to_agent: stranger.id };
    assert.deepEqual((await givenGrants(planner, both)).grants, []);
    assert.deepEqual((await givenGrants(builder)).grants, []);
  },
);

artifactTest(
  "/grants with grant_id → that grant, with its work, and whether it has ended; of nobody else, and none by another filter",
  async ({ planner, builder, stranger }) => {
    const artifact = await publish(planner, { key: "one" });
    const { grant_id } = await grant(planner, artifact, { to: builder });
    await grant(planner, artifact, { to: stranger });
    const seen = async () => {
      const { grants, next_cursor } = await givenGrants(planner, { grant_id });
      assert.equal(next_cursor, null);
      return grants.map(({ grant_id, key, state, ended }) => [grant_id, key, state, ended]);
    };
    assert.deepEqual(await seen(), [[grant_id, "one", "waiting", false]]);
    // Lists do not say it.
    const [listed] = (await givenGrants(planner)).grants;
    assert.equal("ended" in listed!, false);
    for (const other of [{ to_agent: stranger.id }, { to_tag: "tag:nobody" }]) {
      assert.deepEqual((await givenGrants(planner, { grant_id, ...other })).grants, []);
    }
    assert.deepEqual((await givenGrants(builder, { grant_id })).grants, []);
    assert.deepEqual((await givenGrants(planner, { grant_id: "nothing" })).grants, []);

    await succeed("/agent-artifacts/inbox/done", { as: builder, body: { grant_id } });
    await revoke(planner, { grant_id });
    assert.deepEqual(await seen(), [[grant_id, "one", "done", true]]);

    // A grant ends with its file.
    const other = await publish(planner, { key: "two" });
    const given = await grant(planner, other, { to: builder });
    await deleteArtifact(planner, other);
    const { grants: [ended] } = await givenGrants(planner, { grant_id: given.grant_id });
    assert.equal(ended!.ended, true);
  },
);

artifactTest(
  "/grants page by page → every grant once, also of one artifact and to one agent",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const expires_at = secondsFromNow(600);
    const granted: string[] = [];
    for (let index = 0; index < 5; index++) {
      granted.push((await grant(planner, artifact, { to: builder, expires_at })).grant_id);
    }
    for (
      const filter of [{}, { artifact_id: artifact.artifact_id }, { to_agent: builder.id }]
    ) {
      const walked: string[] = [];
      let cursor: string | null | undefined;
      while (cursor !== null) {
        const page = await givenGrants(planner, { ...filter, limit: 2, ...(cursor && { cursor }) });
        walked.push(...idsIn(page));
        cursor = page.next_cursor;
      }
      assert.deepEqual(walked, granted.toSorted(), "all end at once, so by their ids");
    }
  },
);

artifactTest(
  "/grants of another agent → 403, by nobody → 401, by the operator → 200; of another's artifact → none",
  async ({ planner, builder, stranger }) => {
    const artifact = await publish(planner);
    await grant(planner, artifact, { to: builder });
    const ask = (as: Sender) =>
      post<GivenGrantsPage>("/agent-artifacts/grants", { as, body: { agent_id: planner.id } });
    assertError(await ask(stranger), 403, "forbidden");
    assertError(await ask("nobody"), 401, "unauthenticated");
    assert.equal((await ask("operator")).body.grants.length, 1);
    const { artifact_id } = artifact;
    assert.deepEqual((await givenGrants(stranger, { artifact_id })).grants, []);
    assert.deepEqual((await givenGrants(builder, { artifact_id })).grants, []);
  },
);

artifactTest("/grants with a bad field → 422 that names it", async ({ planner }) => {
  const ask = (body: object) => post("/agent-artifacts/grants", { as: planner, body });
  for (const limit of [0, 1001, "10"]) assertInvalid(await ask({ limit }), "limit");
  for (const to_agent of ["", "a b", 1]) assertInvalid(await ask({ to_agent }), "to_agent");
  for (const cursor of ["", "x", `grant_${"0".repeat(32)}`, `1.grant_x`, 1]) {
    assertInvalid(await ask({ cursor }), "cursor");
  }
  const past = `1.grant_${"0".repeat(32)}`;
  assert.equal((await ask({ cursor: past })).status, 200);
  const farAway = `${"9".repeat(18)}.grant_${"0".repeat(32)}`;
  assert.equal((await ask({ cursor: farAway })).status, 200);
});
