import assert from "node:assert/strict";
import { SUPERUSER_URL } from "../connection.ts";
import { type Agent, succeed } from "../../conformance/client.ts";
import { artifactTest, grant, type InboxPage, publish } from "../../conformance/artifacts.ts";
import { withStackDatabase } from "../connection.ts";
import { holdTransaction } from "./held_transaction.ts";

async function grantsSince(
  agent: Agent,
  after?: string,
): Promise<{ ids: string[]; latest: string }> {
  const body = after === undefined ? {} : { after };
  const page = await succeed<InboxPage>("/agent-artifacts/inbox", { as: agent, body });
  return { ids: page.grants.map(({ grant_id }) => grant_id), latest: page.latest };
}

artifactTest(
  "/inbox with after, when a grant is committed after one that was made later → either comes once",
  async ({ planner, builder, stranger }) => {
    const { artifact_id } = await publish(planner);
    // The held grant needs another owner, because grants of one owner wait for each other.
    const held = await publish(stranger);
    const lateId = `grant_${crypto.randomUUID().replaceAll("-", "")}`;
    const hash = lateId.slice(6).repeat(2);
    await using late = await holdTransaction(SUPERUSER_URL, (sql) =>
      sql`
        insert into artifacts.grants (grant_id, artifact_id, from_agent, to_agent, token_hash, expires_at)
        values (${lateId}, ${held.artifact_id}, ${stranger.id}, ${builder.id}, ${hash},
          now() + interval '1 hour')`);
    const early = await grant(planner, { artifact_id }, { to: builder });
    const first = await grantsSince(builder);
    assert.deepEqual(first.ids, [early.grant_id]);
    assert.deepEqual((await grantsSince(builder, first.latest)).ids, []);
    await late.commit();
    const second = await grantsSince(builder, first.latest);
    assert.deepEqual(second.ids, [lateId]);
    assert.deepEqual((await grantsSince(builder, second.latest)).ids, []);
  },
);

artifactTest(
  "/inbox beside two thousand grants of a blocked sender → the others' grants, on the first page",
  async ({ planner, builder, stranger }) => {
    const wanted = await grant(planner, await publish(planner), { to: builder });
    const { artifact_id } = await publish(stranger);
    await withStackDatabase((sql) =>
      sql`
        insert into artifacts.grants (grant_id, artifact_id, from_agent, to_agent, token_hash, expires_at)
        select 'grant_' || md5(${artifact_id} || i), ${artifact_id}, ${stranger.id}, ${builder.id},
          encode(sha256(convert_to(${artifact_id} || i, 'UTF8')), 'hex'), now() + interval '1 hour'
        from generate_series(1, 2000) i`
    );
    const from_agent = planner.id;
    const ofPlanner = await succeed<InboxPage>("/agent-artifacts/inbox", {
      as: builder,
      body: { from_agent },
    });
    await succeed("/agent-artifacts/inbox/block", {
      as: builder,
      body: { from_agent: stranger.id },
    });
    const unblocked = await succeed<InboxPage>("/agent-artifacts/inbox", { as: builder });
    for (const page of [ofPlanner, unblocked]) {
      assert.deepEqual(page.grants.map(({ grant_id }) => grant_id), [wanted.grant_id]);
      assert.equal(page.next_cursor, null);
    }
  },
);
