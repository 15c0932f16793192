import assert from "node:assert/strict";
import { artifactTest } from "../conformance/artifacts.ts";
import { assertError, SUPABASE_URL } from "../conformance/client.ts";
import { startOwnFunction } from "../own_function/own_function.ts";
import { losingAnswers, startProxy } from "../own_function/proxy.ts";

artifactTest(
  "/register whose answer from the stack is lost → 503, and it does not count as pending",
  async ({ planner }) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnFunction({
      supabaseUrl: proxy.url,
      environment: { ARTIFACTS_MAX_PENDING: "1" },
    });
    const body = { agent_id: planner.id, key: "k", mime: "text/plain", size: 1, ttl_days: 1 };
    for (const call of ["/object/upload/sign/", "/rpc/agent_api_register_artifact"]) {
      proxy.intercept(losingAnswers(call, 503));
      const failed = await own.post("/register", { as: planner, body });
      assertError(failed, 503, "upstream_unavailable");
    }
    proxy.letPass();
    assert.equal((await own.post("/register", { as: planner, body })).status, 200);
  },
);

artifactTest(
  "/register while PostgreSQL ends its backends → 503, and it does not count as pending",
  async ({ planner }) => {
    await using proxy = startProxy(SUPABASE_URL, async ({ path }, forward) => {
      if (!path.endsWith("/rpc/agent_api_register_artifact")) return undefined;
      await (await forward()).body?.cancel();
      // PostgREST's answer to every call that is under way when its connection is lost.
      return Response.json({ code: "", details: null, hint: null, message: "" }, { status: 400 });
    });
    await using own = await startOwnFunction({
      supabaseUrl: proxy.url,
      environment: { ARTIFACTS_MAX_PENDING: "1" },
    });
    const body = { agent_id: planner.id, key: "k", mime: "text/plain", size: 1, ttl_days: 1 };
    const failed = await own.post("/register", { as: planner, body });
    assertError(failed, 503, "upstream_unavailable");
    proxy.letPass();
    assert.equal((await own.post("/register", { as: planner, body })).status, 200);
  },
);
