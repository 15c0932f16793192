import assert from "node:assert/strict";
import {
  artifactTest,
  type Cast,
  givenGrants,
  type Grant,
  grant,
  inbox,
  open,
  publish,
  redeem,
  revoke,
  secondsFromNow,
  tryGrant,
} from "../artifacts.ts";
import { type Agent, assertError, assertInvalid, post, type Sender, succeed } from "../client.ts";
import { assertLeads, assertRefused, follow } from "./link.ts";

/** The downloads and the maximum of each of the planner's grants, by grant id. */
async function downloadsOf(
  { planner }: Cast,
): Promise<Record<string, [downloads: number, maximum: number | null]>> {
  const { grants } = await givenGrants(planner);
  return Object.fromEntries(
    grants.map(({ grant_id, downloads, max_downloads }) => [grant_id, [downloads, max_downloads]]),
  );
}

async function assertUsedUp({ token }: Grant): Promise<void> {
  assertError(await redeem(token), 410, "grant_used_up");
  assertRefused(await follow(token), 410, "grant_used_up");
}

artifactTest(
  "/fetch, /open by the grantee and /d of a grant with max_downloads → that many together, then 410; /grants counts them",
  async (cast) => {
    const { planner, builder } = cast;
    const artifact = await publish(planner);
    const limited = await grant(planner, artifact, { to: builder, max_downloads: 3 });
    const { grant_id, token } = limited;
    assert.deepEqual(await downloadsOf(cast), { [grant_id]: [0, 3] });
    assert.equal((await inbox(builder)).length, 1);
    assert.equal((await open(builder, artifact)).status, 200);
    assert.equal((await redeem(token)).status, 200);
    assert.deepEqual(await downloadsOf(cast), { [grant_id]: [2, 3] });
    assertLeads(await follow(token));
    await assertUsedUp(limited);
    assertError(await open(builder, artifact), 410, "grant_used_up");
    assert.deepEqual(await downloadsOf(cast), { [grant_id]: [3, 3] });
    assert.deepEqual(await inbox(builder), [], "it gives nothing any more");
  },
);

artifactTest(
  "/open by the owner and by the operator → not counted, also when the grant is used up",
  async (cast) => {
    const { planner, builder } = cast;
    const artifact = await publish(planner);
    const { grant_id } = await grant(planner, artifact, { to: builder, max_downloads: 1 });
    for (const as of [planner, "operator"] as const) {
      assert.equal((await open(as, artifact)).status, 200);
    }
    assert.deepEqual(await downloadsOf(cast), { [grant_id]: [0, 1] });
    assert.equal((await open(builder, artifact)).status, 200);
    assertError(await open(builder, artifact), 410, "grant_used_up");
    for (const as of [planner, "operator"] as const) {
      assert.equal((await open(as, artifact)).status, 200);
    }
    assert.deepEqual(await downloadsOf(cast), { [grant_id]: [1, 1] });
  },
);

artifactTest(
  "/open by an agent with several grants → one without a limit first; else each limited one in its turn",
  async (cast) => {
    const { planner, builder } = cast;
    const artifact = await publish(planner);
    const [later, sooner] = [
      await grant(planner, artifact, {
        to: builder,
        max_downloads: 1,
        expires_at: secondsFromNow(900),
      }),
      await grant(planner, artifact, {
        to: builder,
        max_downloads: 1,
        expires_at: secondsFromNow(300),
      }),
    ];
    const unlimited = await grant(planner, artifact, { to: builder });
    for (let time = 0; time < 3; time++) {
      assert.equal((await open(builder, artifact)).status, 200);
    }
    const counts = await downloadsOf(cast);
    assert.deepEqual([counts[later.grant_id], counts[sooner.grant_id]], [[0, 1], [0, 1]]);

    await revoke(planner, { grant_id: unlimited.grant_id });
    assert.equal((await open(builder, artifact)).status, 200);
    await assertUsedUp(sooner);
    assert.equal((await open(builder, artifact)).status, 200);
    await assertUsedUp(later);
    assertError(await open(builder, artifact), 410, "grant_used_up");
    const again = await grant(planner, artifact, { to: builder });
    assert.equal((await open(builder, artifact)).status, 200);
    assert.equal((await redeem(again.token)).status, 200);
  },
);

artifactTest(
  "/fetch and /d of a grant without max_downloads → as often as anybody likes; /grants has how often",
  async (cast) => {
    const { planner } = cast;
    const { grant_id, token } = await grant(planner, await publish(planner), {});
    for (let times = 1; times <= 3; times++) {
      assertLeads(await follow(token));
      assert.equal((await redeem(token)).status, 200);
      assert.deepEqual(await downloadsOf(cast), { [grant_id]: [2 * times, null] });
    }
  },
);

artifactTest(
  "a used-up grant that is revoked, or another that still gives → grant_revoked; no other grant is touched",
  async (cast) => {
    const { planner } = cast;
    const artifact = await publish(planner);
    const [usedUp, other] = [
      await grant(planner, artifact, { max_downloads: 1 }),
      await grant(planner, artifact, { max_downloads: 1000 }),
    ];
    assertLeads(await follow(usedUp.token));
    await assertUsedUp(usedUp);
    const { body } = await revoke(planner, { grant_id: usedUp.grant_id });
    assert.deepEqual(body, { revoked: 1, grant_ids: [usedUp.grant_id] });
    assertRefused(await follow(usedUp.token), 410, "grant_revoked");
    assert.deepEqual(await downloadsOf(cast), { [other.grant_id]: [0, 1000] });
  },
);

artifactTest(
  "/grant with a max_downloads that is no whole number from 1 to 1000 → 422, and nothing is granted",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    for (const max_downloads of [0, -1, 1001, 1.5, "5", null, true, 2 ** 53, []]) {
      for (const terms of [{}, { to: builder }]) {
        const refused = await tryGrant(planner, artifact, { ...terms, max_downloads });
        assertInvalid(refused, "max_downloads");
      }
    }
    assert.deepEqual((await givenGrants(planner)).grants, []);
    assert.deepEqual(await inbox(builder), []);
  },
);

artifactTest(
  "/open with a max_size that the artifact exceeds → 409 with its size, nothing is counted, nothing recorded; one that it has → 200",
  async (cast) => {
    const { planner, builder, stranger } = cast;
    const artifact = await publish(planner, { content: "hello" });
    const { grant_id } = await grant(planner, artifact, { to: builder, max_downloads: 1 });
    const openUpTo = (as: Sender, max_size: unknown, named: object = artifactOf(artifact)) =>
      post("/agent-artifacts/open", { as, body: { ...named, max_size } });
    const byKey = { key: artifact.key, agent_id: planner.id };
    for (const as of [builder, planner, "operator"] as const) {
      for (const named of [artifactOf(artifact), byKey]) {
        const refused = await openUpTo(as, 4, named);
        const details = assertError(refused, 409, "limit_exceeded");
        assert.deepEqual(details, { limit: "max_size", maximum: 4, size: 5 });
      }
    }
    // An agent without a grant does not learn the size.
    assertError(await openUpTo(stranger, 4), 404, "artifact_not_found");
    for (const bad of [-1, 1.5, "4", null]) assertInvalid(await openUpTo(builder, bad), "max_size");
    assert.deepEqual(await downloadsOf(cast), { [grant_id]: [0, 1] });
    assert.deepEqual(await readsOf(planner), []);
    assert.equal((await openUpTo(builder, 5)).status, 200);
    assert.deepEqual(await downloadsOf(cast), { [grant_id]: [1, 1] });
    assertError(await openUpTo(builder, 4), 410, "grant_used_up");
  },
);

function artifactOf({ artifact_id }: { readonly artifact_id: string }): object {
  return { artifact_id };
}

/** The events of downloads that the agent sees. */
async function readsOf(agent: Agent): Promise<unknown[]> {
  const body = { types: ["artifact.opened", "artifact.fetched"] };
  return (await succeed<{ events: unknown[] }>("/agent-artifacts/events", { as: agent, body }))
    .events;
}
