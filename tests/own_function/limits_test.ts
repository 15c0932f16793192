import assert from "node:assert/strict";
import { type Agent, assertError, operatorRpc, post, SUPABASE_URL } from "../conformance/client.ts";
import {
  type Artifact,
  artifactTest,
  type Grant,
  inbox,
  publish,
  register,
  secondsFromNow,
  sha256,
  upload,
} from "../conformance/artifacts.ts";
import { withStackDatabase } from "../database/connection.ts";
import { type OwnFunction, startOwnFunction } from "./own_function.ts";
import { startProxy } from "./proxy.ts";

function registerBytes(own: OwnFunction, agent: Agent, size: number) {
  const body = { agent_id: agent.id, key: "k", mime: "text/plain", size, ttl_days: 1 };
  return own.post<Artifact & { upload_url: string }>("/register", { as: agent, body });
}

function remove(own: OwnFunction, agent: Agent, { artifact_id }: { artifact_id: string }) {
  return own.post<Artifact>("/delete", { as: agent, body: { artifact_id } });
}

artifactTest(
  "32 registrations at once against a quota with room for 10 → exactly 10 succeed",
  async ({ planner }) => {
    await using own = await startOwnFunction({
      environment: { ARTIFACTS_QUOTA_BYTES: "1000" },
    });
    const answers = await Promise.all(
      Array.from({ length: 32 }, () => registerBytes(own, planner, 100)),
    );
    assert.equal(answers.filter(({ status }) => status === 200).length, 10);
    for (const answer of answers) {
      if (answer.status === 200) continue;
      assert.deepEqual(assertError(answer, 409, "quota_exceeded"), {
        quota_bytes: 1000,
        held_bytes: 1000,
      });
      assert.equal("upload_url" in answer.body, false);
    }
    const [held] = await withStackDatabase((sql) =>
      sql`select count(*)::integer as count from artifacts.artifacts where agent_id = ${planner.id}`
    );
    assert.equal(held!["count"], 10, "a refused registration leaves no row");
  },
);

artifactTest(
  "the quota counts from /register on, for each agent alone, and deletion and expiry release it",
  async ({ planner, builder }) => {
    await using own = await startOwnFunction({
      environment: { ARTIFACTS_QUOTA_BYTES: "10" },
    });
    const first = await registerBytes(own, planner, 6);
    assert.equal(first.status, 200);
    assertError(await registerBytes(own, planner, 5), 409, "quota_exceeded");
    assert.equal((await registerBytes(own, builder, 10)).status, 200, "another agent has its own");
    assert.equal((await registerBytes(own, planner, 4)).status, 200, "up to the last byte");
    assert.equal((await registerBytes(own, planner, 0)).status, 200, "nothing always fits");

    assert.equal((await remove(own, planner, first.body)).status, 200);
    const second = await registerBytes(own, planner, 6);
    assert.equal(second.status, 200, "a deletion releases");

    assert.equal(await upload(second.body.upload_url, "second"), 200);
    const committing = { artifact_id: second.body.artifact_id, sha256: sha256("second") };
    assert.equal((await own.post("/commit", { as: planner, body: committing })).status, 200);
    assertError(await registerBytes(own, planner, 1), 409, "quota_exceeded");
    await withStackDatabase((sql) =>
      sql`update artifacts.artifacts set expires_at = now() where artifact_id = ${second.body.artifact_id}`
    );
    assert.equal((await registerBytes(own, planner, 6)).status, 200, "an expiry releases");
  },
);

artifactTest(
  "more pending artifacts than allowed → 409 limit_exceeded until one is committed or deleted",
  async ({ planner }) => {
    await using own = await startOwnFunction({ environment: { ARTIFACTS_MAX_PENDING: "2" } });
    const [first] = await Promise.all([
      registerBytes(own, planner, 1),
      registerBytes(own, planner, 1),
    ]);
    const refused = await registerBytes(own, planner, 1);
    assert.deepEqual(assertError(refused, 409, "limit_exceeded"), {
      limit: "pending_artifacts",
      maximum: 2,
    });
    assert.equal((await remove(own, planner, first.body)).status, 200);
    assert.equal((await registerBytes(own, planner, 1)).status, 200);
  },
);

artifactTest(
  "more live grants of an artifact than allowed → 409 limit_exceeded until one is revoked",
  async ({ planner, builder }) => {
    await using own = await startOwnFunction({ environment: { ARTIFACTS_MAX_GRANTS: "2" } });
    const artifact = await publish(planner);
    const body = {
      artifact_id: artifact.artifact_id,
      to_agent: builder.id,
      expires_at: secondsFromNow(60),
    };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => own.post<Grant>("/grant", { as: planner, body })),
    );
    const given = answers.filter(({ status }) => status === 200);
    assert.equal(given.length, 2);
    for (const answer of answers) {
      if (answer.status === 200) continue;
      assert.deepEqual(assertError(answer, 409, "limit_exceeded"), {
        limit: "live_grants",
        maximum: 2,
      });
    }
    assert.equal((await inbox(builder)).length, 2);
    await own.post("/revoke", { as: planner, body: { grant_id: given[0]!.body.grant_id } });
    assert.equal((await own.post("/grant", { as: planner, body })).status, 200);
  },
);

artifactTest(
  "more live agent keys than allowed → 409 limit_exceeded until one is revoked",
  async ({ planner }) => {
    const create = () =>
      operatorRpc("create_agent_key", { agent_id: planner.id, max_live_keys: 2 });
    assert.equal((await create()).status, 200);
    const refused = await create();
    assert.equal(refused.status, 409);
    assert.equal(refused.body["message"], "limit_exceeded");
    await operatorRpc("revoke_agent_key", { key_id: planner.keyId });
    assert.equal((await create()).status, 200);
  },
);

artifactTest(
  "limits do not change what exists: an agent at its limit goes on using what it has",
  async ({ planner, builder }) => {
    const registered = await register(planner);
    await using own = await startOwnFunction({
      environment: { ARTIFACTS_MAX_PENDING: "1", ARTIFACTS_QUOTA_BYTES: "1" },
    });
    assertError(await registerBytes(own, planner, 1), 409, "quota_exceeded");
    await upload(registered.upload_url, "hello");
    const body = { artifact_id: registered.artifact_id, sha256: sha256("hello") };
    assert.equal((await own.post("/commit", { as: planner, body })).status, 200);
    const listing = await post("/agent-artifacts/list", {
      as: planner,
      body: { agent_id: planner.id },
    });
    assert.equal((listing.body["artifacts"] as unknown[]).length, 1);
    assert.equal((await registerBytes(own, builder, 1)).status, 200);
  },
);

artifactTest(
  "8 agent keys asked for at once where 2 more may live → 2 are made",
  async ({ planner }) => {
    const answers = await Promise.all(
      Array.from(
        { length: 8 },
        () => operatorRpc("create_agent_key", { agent_id: planner.id, max_live_keys: 3 }),
      ),
    );
    assert.equal(
      answers.filter(({ status }) => status === 200).length,
      2,
    );
  },
);

artifactTest(
  "/register that is answered 503 → nothing counts against the agent's limits afterwards",
  async ({ planner }) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({
      supabaseUrl: proxy.url,
      environment: { ARTIFACTS_MAX_PENDING: "1" },
    });
    for (const call of ["/object/upload/sign/", "/rpc/register_artifact"]) {
      proxy.intercept(async ({ path }, forward) => {
        if (!path.includes(call)) return undefined;
        // It happens, and only its answer is lost.
        await (await forward()).body?.cancel();
        return new Response(null, { status: 503 });
      });
      assertError(await registerBytes(own, planner, 1), 503, "upstream_unavailable");
    }
    proxy.intercept(() => {});
    assert.equal((await registerBytes(own, planner, 1)).status, 200);
  },
);
