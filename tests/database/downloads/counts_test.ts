import assert from "node:assert/strict";
import {
  artifactTest,
  givenGrants,
  grant,
  open,
  publish,
  redeem,
} from "../../conformance/artifacts.ts";
import { type Agent, operatorRpc } from "../../conformance/client.ts";
import { withStackDatabase } from "../connection.ts";

const OPERATOR = { kind: "operator", request_id: "settling" };

async function downloadsOf(owner: Agent): Promise<number> {
  return (await givenGrants(owner)).grants[0]!.downloads;
}

/** Ends the current minute of every reader of this grant, and calls settle_reads. */
async function settle(grantId: string): Promise<void> {
  await withStackDatabase((sql) =>
    sql`update agents.reads set told_at = told_at - interval '61 seconds' where object_id = ${grantId}`
  );
  const settled = await operatorRpc("settle_reads", { caller: OPERATOR, max_entries: 1000 });
  assert.equal(settled.status, 200, JSON.stringify(settled.body));
}

/** The rows of a grant in artifacts.grant_downloads. */
function rowsOf(grantId: string) {
  return withStackDatabase((sql) =>
    sql<{ max_downloads: number | null; downloads: string }[]>`
      select max_downloads, downloads from artifacts.grant_downloads where grant_id = ${grantId}`
  );
}

artifactTest(
  "/fetch of a grant without a limit → nothing is written to the grant; downloads that the sweep settles stay counted",
  async ({ planner }) => {
    const { grant_id, token } = await grant(planner, await publish(planner), {});
    for (let times = 1; times <= 2; times++) {
      for (let read = 0; read < 3; read++) assert.equal((await redeem(token)).status, 200);
      assert.equal(await downloadsOf(planner), 3 * times);
      assert.equal((await rowsOf(grant_id)).length, times - 1);
      await settle(grant_id);
      assert.equal(await downloadsOf(planner), 3 * times);
      const settled = [{ max_downloads: null, downloads: String(3 * times) }];
      assert.deepEqual(Array.from(await rowsOf(grant_id)), settled);
    }
  },
);

artifactTest(
  "the sweep of reads of a grant with a limit → downloads that were counted immediately are not counted again",
  async ({ planner }) => {
    const { grant_id, token } = await grant(planner, await publish(planner), { max_downloads: 5 });
    for (let read = 0; read < 3; read++) assert.equal((await redeem(token)).status, 200);
    await settle(grant_id);
    assert.equal(await downloadsOf(planner), 3);
    const counted = [{ max_downloads: 5, downloads: "3" }];
    assert.deepEqual(Array.from(await rowsOf(grant_id)), counted);
  },
);

artifactTest(
  "the sweep of reads of a grant that was forgotten → no count is kept, and the others are settled",
  async ({ planner }) => {
    const { grant_id, token } = await grant(planner, await publish(planner), {});
    assert.equal((await redeem(token)).status, 200);
    await withStackDatabase((sql) =>
      sql`delete from artifacts.grants where grant_id = ${grant_id}`
    );
    await settle(grant_id);
    assert.deepEqual(Array.from(await rowsOf(grant_id)), []);
  },
);

artifactTest(
  "return_download → one download more, never more than the grant was made for; of one without a limit → nothing",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const { grant_id } = await grant(planner, artifact, { to: builder, max_downloads: 1 });
    const giveBack = async (grant_id: string) =>
      (await operatorRpc<{ returned: boolean }>("return_download", { grant_id })).body.returned;
    assert.equal(await giveBack(grant_id), false);
    assert.equal((await open(builder, artifact)).status, 200);
    assert.equal((await open(builder, artifact)).status, 410);
    assert.equal(await giveBack(grant_id), true);
    assert.equal(await giveBack(grant_id), false);
    assert.equal((await open(builder, artifact)).status, 200);
    assert.equal((await open(builder, artifact)).status, 410);
    const unlimited = await grant(planner, artifact, {});
    assert.equal((await redeem(unlimited.token)).status, 200);
    assert.equal(await giveBack(unlimited.grant_id), false);
  },
);

artifactTest(
  "a count beyond max_downloads, or below none → refused by the table itself",
  async ({ planner }) => {
    const { grant_id } = await grant(planner, await publish(planner), { max_downloads: 2 });
    for (const downloads of [3, -1]) {
      await assert.rejects(
        withStackDatabase((sql) =>
          sql`update artifacts.grant_downloads set downloads = ${downloads} where grant_id = ${grant_id}`
        ),
        /no_more_downloads_than_allowed|downloads_are_not_negative/,
      );
    }
    assert.equal(await downloadsOf(planner), 0);
  },
);
