import assert from "node:assert/strict";
import { type Agent, assertError } from "../../conformance/client.ts";
import {
  type Artifact,
  artifactTest,
  type Grant,
  inbox,
  publish,
  redeem,
  secondsFromNow,
  sha256,
} from "../../conformance/artifacts.ts";
import { withStackDatabase } from "../../database/connection.ts";
import { newGrantToken } from "../../../supabase/functions/_shared/identity/secrets.ts";
import { startOwnFunction } from "../own_function.ts";

/** Adds grants that ended this many hours ago. Resolves to their tokens. */
async function addEndedGrants(
  { artifact_id }: Artifact,
  { from, to, count, hoursAgo }: { from: Agent; to: Agent; count: number; hoursAgo: number },
): Promise<string[]> {
  const tokens = Array.from({ length: count }, newGrantToken);
  await withStackDatabase((sql) =>
    sql`
      insert into artifacts.grants
        (grant_id, artifact_id, from_agent, to_agent, token_hash, expires_at)
      select 'grant_' || md5(token_hash), ${artifact_id}, ${from.id}, ${to.id}, token_hash,
        now() - ${hoursAgo}::integer * interval '1 hour'
      from unnest(${tokens.map(sha256)}::text[]) as added (token_hash)`
  );
  return tokens;
}

artifactTest(
  "/grant by an agent with more ended grants than are remembered → the oldest of them are 404, no other",
  async ({ planner, builder, stranger }) => {
    await using own = await startOwnFunction({
      environment: { ARTIFACTS_MAX_ENDED_GRANTS: "50" },
    });
    const artifact = await publish(planner);
    const others = await publish(builder);
    const othersToken =
      (await addEndedGrants(others, { from: builder, to: planner, count: 1, hoursAgo: 3 }))[0]!;
    const body = { artifact_id: artifact.artifact_id, to_agent: builder.id };
    const grantBy = async (expires_at: string) => {
      const answer = await own.post<Grant>("/grant", {
        as: planner,
        body: { ...body, expires_at },
      });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      return answer.body;
    };
    const live = await grantBy(secondsFromNow(600));
    // Ended grants count, whoever the grantee is.
    const oldest = await addEndedGrants(artifact, {
      from: planner,
      to: stranger,
      count: 97,
      hoursAgo: 2,
    });
    const newest = await addEndedGrants(artifact, {
      from: planner,
      to: builder,
      count: 51,
      hoursAgo: 1,
    });
    await grantBy(secondsFromNow(600));

    assertError(await redeem(oldest[0]!), 404, "grant_not_found");
    assert.equal((await redeem(live.token)).status, 200);
    assertError(await redeem(othersToken), 410, "grant_expired");
    const [left] = await withStackDatabase((sql) =>
      sql`select count(*)::integer as rows, min(t.grants)::integer as kept,
          count(*) filter (where g.live_until <= now())::integer as ended
        from artifacts.grants g
        join artifacts.totals t on t.agent_id = g.from_agent
        where g.from_agent = ${planner.id}`
    );
    assert.deepEqual({ ...left }, { rows: 52, kept: 52, ended: 50 });
    // All 51 ended at the same time. One of them exceeds the limit and is gone.
    const answers = await Promise.all(newest.map((token) => redeem(token)));
    assert.equal(answers.filter(({ status }) => status === 410).length, 50);
    assert.equal((await inbox(builder)).length, 2);
  },
);
